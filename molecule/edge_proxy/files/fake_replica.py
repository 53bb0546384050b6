"""A fake replica: fake_replica.py NAME PORT ADMIN_PORT; cold while /run/fake-NAME.cold is there."""

import json
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


threading.Thread(
    target=ThreadingHTTPServer(("127.0.0.1", admin_port), Admin).serve_forever, daemon=True
).start()
ThreadingHTTPServer(("127.0.0.1", port), Traffic).serve_forever()
