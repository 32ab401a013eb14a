# SPDX-License-Identifier: BSD-3-Clause
"""The control socket of vbng-cp: doc/sessions.md."""

import json
import os
import socket

from .failure import Failure

SERVICE = "/run/vbng-cp/control.sock"  # of vbng-cp.service
TIMEOUT = 5  # seconds


class Absent(Failure):
    """No vbng-cp answers; the text says which."""


def add_control_plane(parser):
    """Add --control-plane, which find() resolves."""
    parser.add_argument("--control-plane", metavar="FILE", help=f"control socket of vbng-cp (default: $VBNG_CP_SOCKET, else {SERVICE} if it is there)")


def find(path):
    """The path of the socket: as given, else that of the environment, else that of the service where there is one; else None."""
    return path or os.environ.get("VBNG_CP_SOCKET") or (SERVICE if os.path.exists(SERVICE) else None)


def ask(path, **request):
    """What vbng-cp answers. Raises Absent."""
    try:
        with socket.socket(socket.AF_UNIX) as s, s.makefile("rb") as f:
            s.settimeout(TIMEOUT)
            s.connect(path)
            s.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(f.readline())
    except (OSError, ValueError) as e:
        raise Absent(f"{path}: {e}") from e
    if "error" in answer:
        raise Absent(f"{path}: {answer['error']}")
    return answer


def metrics(path):
    """All metrics, each with its series. Raises Absent."""
    return ask(path, cmd="show-metrics")["metrics"]
