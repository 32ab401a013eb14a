# SPDX-License-Identifier: BSD-3-Clause
"""How far a measurement is: a bar with the time left on a terminal, a line for each trial elsewhere."""

import sys
import time

BAR = 24


def duration(seconds):
    """ "4:05", "1:02:03"."""
    seconds = max(0, round(seconds))
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


class Progress:
    """Sections of trials that are expected, and what has been done. A trial costs its seconds and what starting and
    stopping took so far on average."""

    def __init__(self, to=None, clock=time.monotonic):
        self.to = sys.stderr if to is None else to
        self.clock = clock
        self.sections = {}  # name -> [trials left, seconds of each]
        self.done = 0
        self.spent = 0.0
        self.overhead = 1.0  # seconds beyond a trial's own
        self.width = 0

    def expect(self, section, trials, seconds):
        """A section will take about so many trials. Say it again when it turns out otherwise."""
        self.sections[section] = [trials, seconds]

    def left(self):
        """Seconds."""
        return sum(n * (s + self.overhead) for n, s in self.sections.values())

    def trial(self, section, seconds, wall, text):
        """A trial has ended. wall: what it took; 0 when it was known from an earlier run."""
        left = self.sections.setdefault(section, [0, seconds])
        left[0] = max(left[0] - 1, 1)  # until close(), at least one more will come
        self.spent += wall or seconds + self.overhead
        if wall > 0:
            self.done += 1
            self.overhead += (wall - seconds - self.overhead) / min(self.done, 8)
        self._say(f"{section}: {text}" + (" (known)" if wall == 0 else ""))

    def close(self, section):
        """A section has ended, whatever was expected of it."""
        self.sections.pop(section, None)

    def _say(self, text):
        left = self.left()
        share = self.spent / (self.spent + left) if self.spent + left > 0 else 1.0
        if not self.to.isatty():
            print(f"{share * 100:3.0f} %  {duration(left)} left  {text}", file=self.to, flush=True)
            return
        full = round(share * BAR)
        line = f"[{'#' * full}{'.' * (BAR - full)}] {share * 100:3.0f} %  {duration(left)} left  {text}"[:119]
        print("\r" + line.ljust(self.width), end="", file=self.to, flush=True)
        self.width = len(line)

    def end(self):
        """Leave the bar's line."""
        if self.width:
            print(file=self.to, flush=True)
            self.width = 0
