# SPDX-License-Identifier: BSD-3-Clause
"""The HTTP server of the exporter: /metrics. lab/serve.py says who may ask."""

import threading

from ..lab import serve
from ..lab.controlplane import find
from ..lab.telemetry import Telemetry, find_socket
from .controlplane import families
from .metrics import collect, encoder


def _yes_or_no(text):
    if text not in ("0", "1"):
        raise serve.BadQuery("subscribers: expected 0 or 1")
    return text == "1"


class Handler(serve.Handler):
    """Answers /metrics."""

    server_version = "vbng-exporter"

    def answer(self, path, query):
        if path != "/metrics":
            self.send_json(404, {"error": "there is nothing here but /metrics"})
            return
        subscribers = serve.query_of(query, subscribers=(False, _yes_or_no))["subscribers"]
        encode, kind = encoder(self.headers.get("Accept", ""))
        self.send(200, kind, self.server.read(subscribers, encode))


class Server(serve.Server):
    """The server of the metrics. path: of the telemetry socket; None: of the only vbng that runs; control_plane: of vbng-cp's control socket; None: as lab/controlplane.py finds it; the others are those of serve.Server."""

    def __init__(self, address, path, exposed=False, names=(), control_plane=None):
        super().__init__(address, Handler, exposed, names)
        self.path, self.control_plane = path, control_plane
        self.reading = threading.Lock()

    def read(self, subscribers, encode):
        """The metrics as bytes. One scrape reads at a time, for DPDK serves ten clients and no more. Raises Unreachable."""
        with self.reading, Telemetry(self.path or find_socket()) as telemetry:
            control_plane = find(self.control_plane)  # which may have come since
            return collect(telemetry, subscribers, encode, families(control_plane) if control_plane else ())
