# SPDX-License-Identifier: BSD-3-Clause
"""One line per case, and the sum at the end."""


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self, name):
        self.passed += 1
        print(f"ok   {name}", flush=True)

    def fail(self, name, why):
        self.failed += 1
        print(f"FAIL {name}", flush=True)
        for line in why:
            print("     " + line.replace("\n", "\n     "), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"SKIP {name}: {why}", flush=True)

    def result(self, name, wrong):
        """Passed if nothing is wrong."""
        if wrong:
            self.fail(name, wrong)
        else:
            self.ok(name)

    def end(self):
        """Print the sum; the exit status."""
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0
