# SPDX-License-Identifier: BSD-3-Clause
"""The programs that are killed: vbng, vbng-cp, FreeRADIUS and two Kea, in a network namespace; none is waited for, as the load goes on meanwhile."""

import contextlib
import ctypes
import glob
import ipaddress
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading

from vbnglab.lab import run
from vbnglab.lab.freeradius import READY, FreeRadius
from vbnglab.lab.kea import Kea
from vbnglab.lab.network import ip, sysctl
from vbnglab.sessions import gateway

GATEWAYS = ("10.64.0.1", "10.65.0.1")
IN_MODIFY = 2
INTERIM_S = 2  # seconds between two records of a session
CONTROL_PLANE = """
control_socket = "{folder}/vbng.sock"; punt_socket = "{folder}/punt.sock"; store = "{folder}/sessions.db"; max_lines = 4096;
relays = ( {{ name = "kea4"; servers = "127.0.0.1"; giaddr = "127.0.0.2"; node = "bng1"; }},
           {{ name = "kea6"; servers = "::1"; source = "::1"; source_port = 5470; node = "bng1"; }} );
pools = ( {{ name = "homes"; prefix = "10.64.0.0/16"; gateway = "10.64.0.1"; last = "{last}"; }},
          {{ name = "kea"; prefix = "10.65.0.0/16"; gateway = "10.65.0.1"; relay = "kea4"; }} );
pools6 = ( {{ name = "homes6"; wan = "2001:db8:4000::/{wan_len}"; delegated = "2001:db9::/{delegated_len}"; }},
           {{ name = "kea6"; wan = "2001:db8:4010::/48"; delegated = "2001:db9:1000::/40"; relay = "kea6"; }} );
access = ( {{ port = "line"; svlan = 1; pool = "homes"; profile = "home-50M"; }},
           {{ port = "line"; svlan = "2-3"; pool = "homes"; pool6 = "homes6"; profile = "home-50M"; }},
           {{ port = "line"; svlan = 4; pool = "kea"; pool6 = "kea6"; profile = "home-50M"; }} );
pppoe = {{ ac_name = "bng1"; }};
radius = {{ nas_identifier = "bng1"; password = "vbng"; accounting = true; count_interval = "200ms"; interim_interval = "{interim}s";
           timeout = "500ms"; retries = 2; dead_time = "500ms";
           servers = ( {{ address = "127.0.0.1"; secret = "{secret}"; }} ); }};
"""


class Program:
    """One that is started, killed and started again."""

    process = None

    def launch(self):
        """Start it."""
        raise NotImplementedError

    def ready(self):
        """It does its work. Raises RuntimeError where it has ended."""
        raise NotImplementedError

    def alive(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{type(self).__name__} has ended by itself: status {self.process.returncode}")
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


class UserPlane(Program):
    """vbng. Each start has the state of before, or none, as rng says."""

    def __init__(self, place):
        self.place, self.running, self.state = place, None, os.path.join(place.folder, "state")
        self.socket = os.path.join(place.folder, "vbng.sock")

    def launch(self):
        if self.place.rng.random() < 0.5 and os.path.exists(self.state):
            os.unlink(self.state)
        self.running = run.start(os.path.join(self.place.folder, "vbng.cfg"), share_cpus=True, vbng=self.place.vbng,
                                 extra=["--control", self.socket, "--state", self.state])

    def ready(self):
        if not self.running.alive():
            raise RuntimeError(f"vbng has ended by itself: {self.running.stop().error}")
        try:
            return gateway.ask(self.socket, cmd="show-version")["ok"]
        except (OSError, ValueError):
            return False

    def kill(self):
        pid = self.running.pid
        os.kill(pid, signal.SIGKILL)
        self.running.stop()
        shutil.rmtree(f"/var/run/dpdk/vbng-{pid}", ignore_errors=True)

    def stop(self):
        return self.running.stop()

    def forwarded(self):
        """{line: vbng's subscriber}."""
        found, first = {}, 1
        while first is not None:
            answer = gateway.ask(self.socket, cmd="list-subscribers", first=first, count=1000)
            found.update((f"{r['svlan']}.{r['cvlan']}", r) for r in answer["subscribers"])
            first = answer["next"]
        return found


class ControlPlane(Program):
    """vbng-cp."""

    def __init__(self, place):
        self.place, self.log, self.before = place, os.path.join(place.folder, "cp.log"), 0
        self.store, self.socket = os.path.join(place.folder, "sessions.db"), os.path.join(place.folder, "cp.sock")

    def compared(self):
        with contextlib.suppress(FileNotFoundError), open(self.log, "rb") as f:
            return f.read().count(b"compared with vbng")
        return 0

    def launch(self):
        self.before = self.compared()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([gateway.control_plane(), "--control", self.socket, os.path.join(self.place.folder, "cp.cfg")],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=run.end_with_parent)

    def ready(self):
        return self.alive() and self.compared() > self.before

    def status(self):
        return gateway.ask(self.socket, cmd="show-status")["lines"]

    def disconnect(self, line):
        gateway.ask(self.socket, cmd="disconnect", session=f"line {line}")

    def store_faults(self):
        """What SQLite finds wrong in a copy of the store, as the kill has left it."""
        copy = os.path.join(self.place.folder, "copy.db")
        for end in ("", "-wal"):
            if os.path.exists(self.store + end):
                shutil.copyfile(self.store + end, copy + end)
        with contextlib.closing(sqlite3.connect(copy)) as store:
            found = [row[0] for row in store.execute("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def forget(self):
        """Remove the store."""
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.store + end)

    def kill_in_commit(self, nth):
        """Kill it while it writes its nth change from now on. Returns the thread that does."""
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.inotify_init1(os.O_CLOEXEC)
        if fd < 0 or libc.inotify_add_watch(fd, (self.store + "-wal").encode(), IN_MODIFY) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

        def wait():
            for _ in range(nth):
                os.read(fd, 16)
            os.kill(self.process.pid, signal.SIGKILL)
            os.close(fd)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread


class Radius(Program):
    """FreeRADIUS."""

    def __init__(self, place):
        self.server = FreeRadius(os.path.join(place.folder, "radius"), "DEFAULT Auth-Type := Accept\n    Filter-Id = \"home-50M\"\n", gateway.SECRET,
                                 gateway.AUTHENTICATION, gateway.ACCOUNTING)

    def launch(self):
        self.server.start()
        self.process = self.server.process

    def ready(self):
        return self.alive() and READY in self.server.log.read_text(encoding="utf-8", errors="replace")


class Server(Kea, Program):
    """Kea."""

    launch = Kea.start

    def ready(self):
        return self.alive() and self.text().count(self.started) >= self.starts

    def kill(self):
        """What was killed while it wrote its PID file would not start again."""
        super().kill()
        for path in glob.glob(f"{self.config.removesuffix('.json')}.*.pid"):
            os.unlink(path)


class Place:
    """All of them, in a folder. lines: so many of each kind; of the pools a fifth is free beyond these."""

    def __init__(self, folder, lines, rng, vbng):
        self.folder, self.rng, self.vbng = folder, rng, vbng
        self._configure(lines)
        gateway.make_interfaces()
        sysctl("ipv6/conf/lo/disable_ipv6", 0)
        ip("link", "set", "lo", "down")
        ip("link", "set", "lo", "up")
        last4 = ipaddress.ip_address("10.65.0.0") + 10 + lines + lines // 5
        self.kea4 = Server(folder, 4, "127.0.0.1", 67, **{"valid-lifetime": 3600, "subnet4": [
            {"id": 1, "subnet": "10.65.0.0/16", "pools": [{"pool": f"10.65.0.10 - {last4}"}], "option-data": [{"name": "routers", "data": GATEWAYS[1]}]}]})
        self.kea6 = Server(folder, 6, "::1", 547, **{"valid-lifetime": 3600, "preferred-lifetime": 3600, "subnet6": [
            {"id": 1, "subnet": "2001:db8:4010::/48", "pools": [{"pool": f"2001:db8:4010::10-2001:db8:4010::{16 + lines + lines // 5:x}"}],
             "pd-pools": [{"prefix": "2001:db9:1000::", "prefix-len": 40, "delegated-len": 56}]}]})
        self.radius, self.user_plane, self.control_plane = Radius(self), UserPlane(self), ControlPlane(self)
        self.programs = [self.radius, self.kea4, self.kea6, self.user_plane, self.control_plane]

    def _configure(self, lines):
        most = 2 * lines + lines // 5  # of dual stack and PPPoE
        bits = (most - 1).bit_length()
        words = vars(gateway) | {"folder": self.folder, "lines": 8 * lines, "prefixes": 16 * lines, "secret": gateway.SECRET, "interim": INTERIM_S,
                                 "profiles": 'home-50M = { rate = "50M"; };', "last": ipaddress.ip_address("10.64.0.1") + 3 * lines + lines // 5,
                                 "wan_len": 64 - bits, "delegated_len": 56 - bits}
        addresses = json.dumps(GATEWAYS)
        for name, text in (("vbng.cfg", gateway.USER_PLANE.replace('addresses = "{GATEWAY}"', f"addresses = {addresses}")), ("cp.cfg", CONTROL_PLANE)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write(text.format(**words))

    def close(self):
        """End what runs still."""
        for program in reversed(self.programs):
            with contextlib.suppress(OSError, AttributeError):
                program.stop()

