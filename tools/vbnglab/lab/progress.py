# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a measurement: a bar with the time left on a terminal, a line for each trial elsewhere."""

import sys
import time

BAR = 24


def duration(seconds):
    """Seconds as "4:05" or "1:02:03"."""
    seconds = max(0, round(seconds))
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


class Progress:
    """The trials that are expected, by section, and those that have ended. A trial is expected to take its own seconds and what
    starting and stopping took so far on average."""

    def __init__(self, to=None, clock=time.monotonic):
        self.to = sys.stderr if to is None else to
        self.clock = clock
        self.sections = {}  # name -> [trials left, seconds of each]
        self.done = 0
        self.spent = 0.0
        self.overhead = 1.0  # mean seconds of a trial beyond its own
        self.width = 0

    def expect(self, section, trials, seconds):
        """Expect about so many trials of so many seconds in a section; a later call replaces the number."""
        self.sections[section] = [trials, seconds]

    def left(self):
        """Seconds that are left."""
        return sum(n * (s + self.overhead) for n, s in self.sections.values())

    def trial(self, section, seconds, wall, text):
        """Count a trial that has ended. wall: seconds that it took; 0 for one that an earlier run has done."""
        left = self.sections.setdefault(section, [0, seconds])
        left[0] = max(left[0] - 1, 1)  # a section has at least one more until close()
        self.spent += wall or seconds + self.overhead
        if wall > 0:
            self.done += 1
            self.overhead += (wall - seconds - self.overhead) / min(self.done, 8)
        self._say(f"{section}: {text}" + (" (known)" if wall == 0 else ""))

    def close(self, section):
        """Expect no more trials of a section."""
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
        """End the line of the bar, so that other output begins a new one."""
        if self.width:
            print(file=self.to, flush=True)
            self.width = 0
