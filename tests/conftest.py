# SPDX-License-Identifier: BSD-3-Clause
"""What all tests in Python share: the build that they test, folders, time limits. See README.md."""

import contextlib
import os
import pathlib
import shutil
import signal
import site
import subprocess
import tempfile
import time

import pytest

from tests.common import limits, need, network
from tests.common.limits import limit, slowness

TOP = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_LIMIT = 120  # seconds for one test with its fixtures, on a quiet machine; another one: @pytest.mark.limit(300)
LONG = "VBNG_TEST_LONG"  # in the environment: Meson's run has the long tests, too
ALL_SKIPPED = 77  # the exit status that Meson shows as SKIP
IN_PHASE = pytest.StashKey()  # of a test: is it, or one of its fixtures, what runs now?


def pytest_addoption(parser):
    group = parser.getgroup("vbng")
    group.addoption("--vbng", default=os.environ.get("VBNG"), metavar="FILE",
                    help="the program to test (default: $VBNG, or vbng in the build folder)")
    group.addoption("--build", default=os.environ.get("VBNG_BUILD"), metavar="DIR",
                    help="the build folder (default: $VBNG_BUILD, or where the program is, or build)")
    group.addoption("--meson", action="store_true", help=f"end with status {ALL_SKIPPED} if all tests were skipped")


def pytest_configure(config):
    config.addinivalue_line("markers", f"limit(seconds): time limit of a test on a quiet machine, instead of {DEFAULT_LIMIT}")
    config.addinivalue_line("markers", "long: not in the short run, tools/test without options")
    fetched = given(config)[1] / "tools/python"  # by tools/fetch-python
    site.addsitedir(str(fetched))
    site.addsitedir(str(fetched.parent.parent / "tests/python"))  # what tests/requirements.txt names
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (TOP, TOP / "tools", fetched)))  # for scripts that tests start
    slowness()  # before any test makes load of its own


def pytest_report_header():
    return f"time limits: times {slowness():.2f}, as measured at the start of the session"


def pytest_collection_modifyitems(config, items):
    """Of Meson's tests the long ones are for who asks for them; whoever runs pytest by hand has chosen already."""
    if config.getoption("--meson") and LONG not in os.environ:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="long: tools/test --long, or a suite by its name, runs it"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Ends a test that takes longer than its limit, wherever it hangs; its fixtures' ends run nevertheless. Load that came after the start of the session
    counts, too: the machine is measured again when the limit is over."""
    marker = item.get_closest_marker("limit")
    quiet, begun = marker.args[0] if marker else DEFAULT_LIMIT, time.monotonic()

    def on_alarm(*_):
        # Fires again, so that an end of a fixture that hangs is ended, too; not while pytest writes its report, which would be lost.
        seconds = max(limit(quiet), quiet * limits.measure())
        left = begun + seconds - time.monotonic()
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left, limit(30))
        elif item.stash.get(IN_PHASE, False):
            pytest.fail(f"took longer than its limit of {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, limit(quiet), limit(30))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def phase(item):
    """Around each phase of a test."""
    item.stash[IN_PHASE] = True
    yield
    item.stash[IN_PHASE] = False


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = phase


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    counts = {outcome: len(reporter.stats.get(outcome, [])) for outcome in ("passed", "failed", "error", "skipped")}
    if session.config.getoption("--meson") and counts.pop("skipped") > 0 and not any(counts.values()):
        session.exitstatus = ALL_SKIPPED


def given(config):
    """(program, build folder) that the options name."""
    vbng, build = config.getoption("--vbng"), config.getoption("--build")
    build = pathlib.Path(build) if build else pathlib.Path(vbng).parent if vbng else TOP / "build"
    return (pathlib.Path(vbng) if vbng else build / "vbng").resolve(), build.resolve()


@pytest.fixture(scope="session")
def vbng(request):
    """The path of the program to test."""
    path, _ = given(request.config)
    if not os.access(path, os.X_OK):
        pytest.exit(f"{path} is no program: build it (ninja -C build), or name another one with --vbng or VBNG", 3)
    return str(path)


@pytest.fixture(scope="session")
def build(request):
    """The build folder, where test programs of other suites are, too."""
    return given(request.config)[1]


@pytest.fixture(scope="session")
def top():
    """The top of the sources."""
    return TOP


@pytest.fixture(scope="session")
def run():
    """A function: run a program to its end. Returns subprocess.CompletedProcess with output as text; the limit of 60 s is scaled."""

    def run_to_end(*command, timeout=60, **how):
        how = {"capture_output": True, "text": True, "errors": "replace"} | how
        return subprocess.run([*map(str, command)], timeout=limit(timeout), check=False, **how)

    return run_to_end


def short_folder():
    """Yields a new folder whose path leaves room for sockets (108 bytes), which pytest's own tmp_path may not. It stays if the
    environment says where: VBNG_TEST_KEEP=DIR."""
    keep = os.environ.get("VBNG_TEST_KEEP")
    path = pathlib.Path(tempfile.mkdtemp(prefix="vbng-", dir=keep))
    yield path
    if not keep:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def folder():
    """A new folder for one test."""
    yield from short_folder()


@pytest.fixture(scope="module")
def module_folder():
    """A new folder for all tests of a module."""
    yield from short_folder()


@pytest.fixture(scope="module")
def own_network():
    """A network namespace for all tests of a module, and the programs that they start; skips where none can be made."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(network.own())
        except OSError as e:
            need.skip(f"no network namespace with veth pairs can be made here: {e}")
        yield
