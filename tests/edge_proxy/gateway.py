"""A real nginx on loopback with the configuration that the role renders."""

import hashlib
import json
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import jinja2
import yaml

from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

__all__ = ["API_KEY", "CONFIGURATION", "HOST", "Gateway"]

ROLE = Path(__file__).resolve().parents[2] / "roles" / "edge_proxy"
API_KEY = "wf-canary-key"
CONFIGURATION = hashlib.sha256(b"all that needs a reload").hexdigest()
HOST = "127.0.0.1"


@dataclass
class Gateway:
    """One nginx with its own folder; ``inputs`` are role variables."""

    root: Path
    inputs: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text())
        internals = yaml.safe_load((ROLE / "vars/main.yml").read_text())
        self.variables = {
            **defaults,
            **internals,
            "ansible_managed": "Ansible managed",
            "__edge_proxy_configuration": CONFIGURATION,
            "edge_proxy_listen_address": HOST,
            "edge_proxy_listen_port": _free_port(),
            "edge_proxy_admin_port": _free_port(),
            # Nothing listens there: a port of 1 refuses, and the file may not be empty.
            "edge_proxy_replicas": [
                {
                    "name": "none",
                    "model": "chat",
                    "address": HOST,
                    "port": 1,
                    "admin_port": 1,
                    "server_name": "none",
                }
            ],
            "edge_proxy_api_keys": [
                {"name": "other", "sha256": "0" * 64},
                {"name": "default", "sha256": hashlib.sha256(API_KEY.encode()).hexdigest()},
            ],
            "__edge_proxy_lua": [
                {"name": file.stem, "source": file.read_text()}
                for file in sorted((ROLE / "files/lua/warmfleet").glob("*.lua"))
            ],
            "__edge_proxy_root": str(self.root / "tree"),
            "__edge_proxy_user": pwd.getpwuid(os.getuid()).pw_name,
            "__edge_proxy_log_dir": str(self.root),
            "__edge_proxy_temp_dir": str(self.root / "temp"),
            "__edge_proxy_pid_file": str(self.root / "nginx.pid"),
            "__edge_proxy_drained_file": str(self.drained_file),
            **self.inputs,
        }

    @property
    def url(self) -> str:
        """Return where clients connect."""
        return f"https://{HOST}:{self.variables['edge_proxy_listen_port']}"

    @property
    def config(self) -> Path:
        """Return the rendered nginx.conf."""
        return self.root / "nginx.conf"

    @property
    def drained_file(self) -> Path:
        """Return the file in which operators name hosts that get no traffic."""
        return self.root / "drained.json"

    def render(self) -> None:
        """Write the whole tree as the role does."""
        tree = self.root / "tree"
        (self.root / "temp").mkdir(exist_ok=True)
        (tree / "tls").mkdir(parents=True, exist_ok=True)
        credentials = self.credentials()
        for name, file in {
            "tls/server.pem": credentials.server_certificate_file,
            "tls/server.key": credentials.server_key_file,
            "tls/client.pem": credentials.client_certificate_file,
            "tls/client.key": credentials.client_key_file,
            "replica_ca.pem": credentials.fleet_ca_file,
        }.items():
            shutil.copy(file, tree / name)
        self.config.write_text(self.template("nginx.conf.j2"))
        for name in ("balancer.lua", "replicas.json", "api_keys.json"):
            (tree / name).write_text(self.template(f"{name}.j2"))

    def credentials(self, *replicas: str) -> Credentials:
        """Return keys and certificates, those of the named replicas among them."""
        hosts = dict.fromkeys(replicas, HOST)
        return Credentials.ensure(Project(self.root), "edge", ["localhost", HOST], hosts)

    def replica_tls(self, name: str) -> ssl.SSLContext:
        """Return what a replica of that name serves with: it takes this gateway alone."""
        credentials = self.credentials(name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(
            credentials.replica_certificate_file(name), credentials.replica_key_file(name)
        )
        context.load_verify_locations(credentials.fleet_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def template(self, name: str) -> str:
        """Render one template of the role."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(ROLE / "templates"),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            autoescape=False,  # noqa: S701  - configuration, not HTML
        )
        environment.filters["to_json"] = json.dumps  # Ansible's; the only one that is used
        return environment.get_template(name).render(self.variables)

    def check(self) -> subprocess.CompletedProcess[str]:
        """Run nginx's own test of the tree."""
        return subprocess.run(
            ["nginx", "-t", "-c", str(self.config)], capture_output=True, text=True, check=False
        )

    def start(self, changes: dict[str, str] | None = None) -> None:
        """Start nginx, with some text of its configuration changed, and wait for its port."""
        self.render()
        for old, new in (changes or {}).items():
            text = self.config.read_text()
            assert old in text, "the change changes nothing"
            self.config.write_text(text.replace(old, new))
        self.process = subprocess.Popen(["nginx", "-c", str(self.config), "-g", "daemon off;"])
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex((HOST, self.variables["edge_proxy_listen_port"])) == 0:
                    return
            time.sleep(0.05)
        msg = f"nginx does not listen: {self.error_log()}"
        raise AssertionError(msg)

    def stop(self) -> None:
        """Stop nginx at once."""
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=10)

    def set_members(self, entries: list[dict[str, Any]]) -> None:
        """Change the membership the way the role does: the file is replaced, nothing reloaded."""
        target = self.root / "tree" / "replicas.json"
        staged = target.with_suffix(".new")
        staged.write_text(json.dumps(entries))
        staged.chmod(0o644)
        staged.replace(target)

    def drain(self, *names: str) -> None:
        """Take exactly these hosts out, the way operators do."""
        staged = self.drained_file.with_suffix(".new")
        staged.write_text(json.dumps({name: {"by": "a test"} for name in names}))
        staged.replace(self.drained_file)

    def replicas(self) -> dict[str, dict[str, Any]]:
        """Return what the balancing says of each replica, by name."""
        url = f"http://{HOST}:{self.variables['edge_proxy_admin_port']}/replicas"
        with urlopen(url, timeout=5) as response:
            return {entry.pop("name"): entry for entry in json.load(response)}

    def tls(self) -> ssl.SSLContext:
        """Return a client context that trusts this gateway alone."""
        return ssl.create_default_context(cafile=str(self.credentials().ca_file))

    def access_log(self) -> list[dict[str, Any]]:
        """Return the access log, parsed."""
        lines = (self.root / "access.log").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def error_log(self) -> str:
        """Return the error log."""
        file = self.root / "error.log"
        return file.read_text() if file.exists() else ""


def _free_port() -> int:
    with socket.socket() as picker:
        picker.bind((HOST, 0))
        return int(picker.getsockname()[1])
