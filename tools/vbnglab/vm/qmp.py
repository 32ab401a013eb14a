# SPDX-License-Identifier: BSD-3-Clause
"""The part of QEMU's machine protocol (QMP) that vbng-lab vm needs: ask, and get the answer."""

import json
import os
import socket
import time


class QmpError(Exception):
    """QEMU does not answer, or answers with an error."""


class Qmp:
    """A connection to QEMU's QMP socket."""

    def __init__(self, path, timeout=20.0):
        self._socket = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + timeout
        while True:
            try:
                self._socket.connect(path)
                break
            except OSError as e:  # QEMU makes the socket when it has started
                if time.monotonic() > end:
                    self._socket.close()
                    raise QmpError(f"QEMU's socket {path}: {e}") from None
                time.sleep(0.02)
        self._socket.settimeout(timeout)
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self._read()  # the greeting
        self.ask("qmp_capabilities")

    def close(self):
        self._lines.close()
        self._socket.close()

    def _read(self):
        try:
            line = self._lines.readline()
        except OSError as e:
            raise QmpError(f"QEMU does not answer: {e}") from None
        if not line:
            raise QmpError("QEMU has closed its socket")
        return json.loads(line)

    def ask(self, command, **arguments):
        """Answer of a command; events before it are skipped. Raises QmpError."""
        request = {"execute": command, "arguments": arguments}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError as e:
            raise QmpError(f"QEMU does not listen: {e}") from None
        while True:
            answer = self._read()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise QmpError(f"{command}: {answer['error'].get('desc')}")


def pin_vcpus(qmp, cpus):
    """Bind the thread of vCPU i to cpus[i]. Returns {vCPU: CPU} as the kernel says afterwards."""
    out = {}
    for vcpu in qmp.ask("query-cpus-fast"):
        index, thread = vcpu["cpu-index"], vcpu["thread-id"]
        os.sched_setaffinity(thread, {cpus[index]})
        (out[index],) = os.sched_getaffinity(thread)
    return out
