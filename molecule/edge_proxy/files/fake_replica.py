"""A fake replica: fake_replica.py NAME PORT ADMIN_PORT; cold while /run/fake-NAME.cold is there."""

import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

name, port, admin_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Traffic(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, {"replica": name})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, {"replica": name, "key_seen": "Authorization" in self.headers})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Admin(Traffic):
    def do_GET(self):
        cold = Path(f"/run/fake-{name}.cold").exists()
        self.answer(503 if cold else 200, {"state": "warming" if cold else "ready"})


def listen(port, handler):
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


fleet = Path("/usr/local/lib/secrets/fleet")
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(fleet / f"replicas/{name}.pem", fleet / f"replicas/{name}.key")
tls.load_verify_locations(fleet / "ca.pem")
tls.verify_mode = ssl.CERT_REQUIRED
threading.Thread(target=listen(admin_port, Admin).serve_forever, daemon=True).start()
listen(port, Traffic).serve_forever()
