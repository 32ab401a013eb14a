# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a configuration, from vbng."""

import json
import subprocess

from ..lab.failure import Failure

TIME_LIMIT = 60  # seconds for vbng to make a plan


class PlanError(Failure):
    """vbng made no plan. The text is what vbng printed; status is its exit status, 3 where it did not start."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def read_plan(arguments, vbng):
    """Run the binary vbng with --plan=json and these arguments (options and one configuration).

    Returns the plan as a dict, and the warnings as vbng printed them. Raises PlanError.
    """
    command = [vbng, "--plan=json", *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise PlanError(done.stderr, done.returncode)
        plan = json.loads(done.stdout)
    except OSError as e:
        raise PlanError(f"{vbng}: {e.strerror}: build vbng (meson setup build; ninja -C build) or name it with --vbng\n", 3) from e
    except subprocess.TimeoutExpired as e:
        raise PlanError(f"{' '.join(command)}: no plan within {TIME_LIMIT} s\n", 3) from e
    except ValueError as e:
        raise PlanError(f"{' '.join(command)}: the plan is no JSON ({e}); is it another program?\n", 3) from e
    if "topology" not in plan:
        raise PlanError(f"{vbng}: an older vbng, whose plan lacks what a description needs: build it anew, or name another with --vbng\n", 3)
    return plan, done.stderr
