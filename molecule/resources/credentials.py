"""Make a scenario's keys and certificates as an environment's are made: credentials.py FOLDER HOST.

What is there stays; a certificate that was removed is made again.
"""

import sys
from pathlib import Path

from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

folder, *hosts = sys.argv[1:]
Credentials.ensure(
    Project(Path(folder)), "molecule", ["localhost", "127.0.0.1"], dict.fromkeys(hosts, "127.0.0.1")
)
