"""Exits with 0 while the web server in this container answers."""

import os
import sys
from http.client import HTTPConnection, HTTPException

# The server answers for its own host names only, and loopback need not be one of them.
host = os.environ.get("CTXBUDGET_ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
connection = HTTPConnection("127.0.0.1", int(os.environ.get("GRANIAN_PORT", "8000")), timeout=4)
try:
    connection.request("GET", "/healthz", headers={"Host": host})
    healthy = connection.getresponse().status == 200
except (OSError, HTTPException):
    healthy = False
sys.exit(0 if healthy else 1)
