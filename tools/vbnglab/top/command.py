# SPDX-License-Identifier: BSD-3-Clause
"""Watch a running vbng in a terminal.

Keys: g  gateway: cores, ports, schedulers, greatest drops
      p  pipeline: tasks with their drops by reason, rings
      l  losses: every drop reason with its meaning and remedy
      c  control plane (vbng-cp): sessions, failures by reason, pools, RADIUS, relays, store
      s  subscribers; then r d w e: by rate, drops, waiting time, shaping error;
         /  find: id, address, MAC, key, circuit, profile, a part of a name
      arrows, page up and down: scroll;  q  end
"""

import curses
import time

from ..lab.controlplane import add_control_plane, find
from ..lab.options import add_telemetry, between
from ..lab.reading import Reading
from ..lab.telemetry import Telemetry, Unreachable, find_socket
from .controlplane import ControlPlane
from .view import Subscribers, View

VIEWS = {"g": "gateway", "p": "pipeline", "l": "losses", "c": "control_plane", "s": "subscribers"}
SORTS = {"r": "rate", "d": "drops", "w": "delay", "e": "error"}
STEPS = {curses.KEY_DOWN: (1, 0), curses.KEY_UP: (-1, 0), curses.KEY_NPAGE: (0, 1), curses.KEY_PPAGE: (0, -1)}
HELP = "g gateway  p pipeline  l losses  c sessions  s subscribers (rdwe)  /find  q end"


def view_of(telemetry):
    """A view of a gateway, which knows what its drop reasons mean."""
    return View(telemetry.schema(), {i["task"]: i["type"] for i in telemetry.plan()["instances"]})


def once_of_control_plane(control_plane, interval):
    """The view of one interval of vbng-cp."""
    control_plane.read()
    if control_plane.now is not None:
        time.sleep(interval)
        control_plane.read()
    return control_plane.lines()


def once(telemetry, interval, subscribers, sort, search):
    """The view of one interval, as text."""
    if subscribers or search:
        return Subscribers(telemetry).lines(sort, 0, 20, search)
    view, names = view_of(telemetry), telemetry.names("task")
    view.add(Reading(telemetry, names))
    time.sleep(interval)
    view.add(Reading(telemetry, names))
    return view.lines()


class Screen:
    """The terminal: what is shown, and what keys change."""

    def __init__(self, window, interval, view, sort, search, control_plane):
        self.window, self.interval, self.control_plane = window, interval, control_plane
        self.view, self.sort, self.search, self.first = view, sort, search, 0
        curses.curs_set(0)

    def show(self, telemetry):
        """Show until the end is asked for. Raises Unreachable when the gateway goes."""
        view, names, subscribers = view_of(telemetry), telemetry.names("task"), Subscribers(telemetry)
        view.add(Reading(telemetry, names))
        while True:
            start = time.monotonic()
            room = self.window.getmaxyx()[0] - 1
            if self.view == "subscribers":
                lines = list(subscribers.lines(self.sort, self.first, room - 2, self.search))
            else:
                lines = self.sessions() if self.view == "control_plane" else getattr(view, self.view)()
                self.first = min(self.first, max(0, len(lines) - room))
                lines = lines[self.first :]
            self.draw(lines)
            while (left := start + self.interval - time.monotonic()) > 0:
                changed = self.key(left)
                if changed == "end":
                    return
                if changed:
                    break
            else:
                view.add(Reading(telemetry, names))
                if self.view == "control_plane":  # which is asked for nothing while nobody looks
                    self.control_plane.read()

    def sessions(self):
        """Lines about the control plane; the first reading is taken when somebody looks."""
        if self.control_plane.now is None:
            self.control_plane.read()
        return self.control_plane.lines()

    def draw(self, lines):
        height, width = self.window.getmaxyx()
        self.window.erase()
        for row, line in enumerate(lines[: height - 1]):
            self.window.addnstr(row, 0, line, width - 1)
        self.window.insnstr(height - 1, 0, HELP.ljust(width), width, curses.A_REVERSE)
        self.window.refresh()

    def ask_for_search(self):
        """Have a text typed into the last line; an empty one finds all again."""
        row = self.window.getmaxyx()[0] - 1
        self.window.timeout(-1)
        self.window.move(row, 0)
        self.window.clrtoeol()
        self.window.addstr("find: ")
        curses.echo()
        typed = self.window.getstr(64)
        curses.noecho()
        self.view, self.first, self.search = "subscribers", 0, typed.decode(errors="replace").strip()

    def key(self, seconds):
        """Wait for a key. Returns "end", or whether the key changes what is shown."""
        self.window.timeout(max(1, int(seconds * 1000)))
        key = self.window.getch()
        letter = chr(key) if 0 <= key < 256 else ""
        if letter == "/":
            self.ask_for_search()
            return True
        if letter == "q":
            return "end"
        if letter in VIEWS:
            self.view, self.first = VIEWS[letter], 0
        elif letter in SORTS and self.view == "subscribers":
            self.sort, self.first = SORTS[letter], 0
        elif key in STEPS:
            lines, pages = STEPS[key]
            self.first = max(0, self.first + lines + pages * (self.window.getmaxyx()[0] - 3))
        return letter in VIEWS or letter in SORTS or key in STEPS or key == curses.KEY_RESIZE


def watch(window, path, interval, *how):
    """Show a gateway until the end is asked for, and wait for one that has gone."""
    screen = Screen(window, interval, *how)
    while True:
        try:
            with Telemetry(path or find_socket()) as telemetry:
                screen.show(telemetry)
                return
        except Unreachable as e:
            screen.draw([f"disconnected since {time.strftime('%H:%M:%S')}: {e}", "", "waiting for it to come back ..."])
            if screen.key(1) == "end":
                return


def configure(p):
    """Its options."""
    p.description = __doc__
    add_telemetry(p)
    add_control_plane(p)
    p.add_argument("--interval", type=between(0.05, 3600), default=1.0, metavar="SECONDS", help="time between two readings (default: %(default)s)")
    p.add_argument("--subscribers", action="store_true", help="begin with the subscribers")
    p.add_argument("--sessions", action="store_true", help="begin with the control plane; with --once it alone, also without a vbng")
    p.add_argument("--by", choices=list(SORTS.values()), default="rate", help="order of the subscribers (default: %(default)s)")
    p.add_argument("--find", default="", metavar="TEXT", help="only subscribers of that id, address, MAC, GRE key, circuit or profile, or with it in their name")
    p.add_argument("--once", action="store_true", help="print the view of one interval and end")


def run(args):
    """Watch until the end is asked for."""
    control_plane = ControlPlane(find(args.control_plane))
    if args.once and args.sessions:
        print("\n".join(once_of_control_plane(control_plane, args.interval)))
        return 0 if control_plane.now is not None else 1
    try:
        with Telemetry(args.socket or find_socket()) as telemetry:  # a gateway that is absent is reported before the screen is taken
            if args.once:
                print("\n".join(once(telemetry, args.interval, args.subscribers, args.by, args.find)))
                return 0
        view = "subscribers" if args.subscribers or args.find else "control_plane" if args.sessions else "gateway"
        curses.wrapper(watch, args.socket, args.interval, view, args.by, args.find, control_plane)
    except KeyboardInterrupt:
        pass
    return 0
