# SPDX-License-Identifier: BSD-3-Clause
"""The commands of vbng-lab: what all of them have in common."""

import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.common.limits import limit
from vbnglab import cli
from vbnglab.lab import failure, run as runs

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAB = TOP / "tools" / "vbng-lab"
LINKS = {name: cli.LINKS.get(name, name) for name in ("measure", "sweep", "experiment", "doctor", "vm", "switchlab", "vbng-top",
                                                      "vbng-web", "vbng-exporter")}


def commands():
    """The words of all commands, and of the commands in them."""
    def walk(parser, words):
        inner = next((a.choices for a in parser._actions if a.choices and hasattr(a, "add_parser")), {})
        for name, p in inner.items():
            yield [*words, name]
            yield from walk(p, [*words, name])

    return list(walk(cli.whole_parser(), []))


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help(words, run):
    done = run(LAB, *words, "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: vbng-lab {' '.join(words)} "), done.stderr


def test_every_option_has_a_help_text():
    def walk(parser):
        for action in parser._actions:
            assert action.help or action.choices and hasattr(action, "add_parser"), (parser.prog, action.dest)
            for p in action.choices.values() if hasattr(action, "add_parser") else ():
                walk(p)

    walk(cli.whole_parser())


def test_a_python_that_is_not_debians_is_named(monkeypatch, tmp_path):
    """Whoever has another Python first in PATH, or an environment, installed the package, and was told again to install it."""
    environment = tmp_path / "python3"
    environment.symlink_to(failure.DEBIANS)
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    for python, prefix, debians in ((failure.DEBIANS, "/usr", True), (os.path.realpath(failure.DEBIANS), "/usr", True),
                                    ("/opt/python/bin/python3", "/usr", False), (str(environment), str(tmp_path), False)):
        monkeypatch.setattr(sys, "executable", python)
        monkeypatch.setattr(sys, "prefix", prefix)
        assert failure.not_installed("SciPy", "python3-scipy") == (
            "SciPy is not installed (Debian package python3-scipy)" if debians else
            f"SciPy is not installed for {python} (Debian package python3-scipy is for /usr/bin/python3)")


def test_all_commands(run):
    done = run(LAB, "--help")
    assert done.returncode == 0
    for name, (_, what) in cli.COMMANDS.items():
        assert re.search(rf"^    {name}\s", done.stdout, re.M), name
        assert what.split()[0] in done.stdout


@pytest.mark.parametrize("words, says", [
    ([], "the following arguments are required: COMMAND"),
    (["nothing"], "invalid choice: 'nothing'"),
    (["doctor", "--nothing"], "vbng-lab doctor: error: unrecognized arguments: --nothing"),
    (["doctor", "--", "x"], "vbng-lab doctor: error: nothing can follow --"),
    (["top", "--interval", "0"], "expected 0.05 to 3600"),
    (["exporter", "--port", "65536"], "expected 0 to 65535"),
    (["sweep", "--set", "x", "cfg"], "expected TASK.PARAM=VALUE"),
])  # fmt: skip
def test_usage(words, says, run):
    done = run(LAB, *words)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_failure_is_one_line(run, folder):
    done = run(LAB, "top", "--once", "--telemetry", folder / "none")
    assert done.returncode == 1 and re.fullmatch(r"vbng-lab top: .*\n", done.stderr), done.stderr


@pytest.mark.parametrize("name, command", LINKS.items())
def test_links(name, command, run):
    """The names that the programs had before are links, which stand for a command."""
    done = run(TOP / "tools" / name, "--help")
    assert done.stdout.startswith(f"usage: vbng-lab {command} "), done.stderr


def test_from_anywhere(run, folder):
    """A link from elsewhere finds the package; the working folder has no part in it."""
    link = folder / "doctor"
    link.symlink_to(LAB)
    (folder / "vbnglab.py").write_text("raise SystemExit(1)\n")
    done = run(link, "--help", cwd=folder, env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})
    assert done.stdout.startswith("usage: vbng-lab doctor "), done.stderr


def test_pipe_that_closes(run):
    """Output that nobody wants is no traceback."""
    done = run("sh", "-c", f"{LAB} switch show chain --switch direct | true")
    assert done.stderr == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(number, vbng, folder):
    """A command that runs vbng ends with status 130, and leaves none behind."""
    process = subprocess.Popen([LAB, "sweep", "--share-cpus", "--vbng", vbng, "--seconds", "60", "--out", folder,
                                TOP / "cfg" / "qos-minimal-fig8.cfg"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    try:
        for line in process.stdout:
            if "refused" not in line:  # the layouts are listed before the first run
                break
        process.send_signal(number)
        assert process.wait(limit(30)) == 130
    finally:
        process.kill()
        process.communicate()


def test_a_program_named_by_a_relative_path():
    """It is that of the folder where the command began, though vbng may run in another; a bare name is looked up in $PATH."""
    assert runs.binary("build/vbng") == os.path.abspath("build/vbng")
    assert runs.binary("vbng") == "vbng"


def test_version():
    """The package has the version of the project, and asks for the packages that a build fetches."""
    project = tomllib.loads((TOP / "tools" / "pyproject.toml").read_text())["project"]
    assert f"version: '{project['version']}'" in (TOP / "meson.build").read_text()
    fetched = dict(re.findall(r"^(\w+)==(\S+)", (TOP / "tools" / "requirements.txt").read_text(), re.M))
    wanted = dict(re.findall(r"(\w+) == ([\d.]+)", " ".join(project["dependencies"])))
    assert fetched == wanted


def test_fetched(build):
    """The build has fetched what Debian does not have. Without a network it has not: ninja -C build tries again."""
    assert (build / "tools" / "python" / "MLRsearch").is_dir()


def wheel(path):
    """A package "example" with nothing but itself; its hash."""
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("example.py", "")
        z.writestr("example-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
        z.writestr("example-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("example-1.0.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


INTERRUPTED = """import os, pathlib, signal, sys
target = pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
target.mkdir()
(target / "part.py").touch()
os.kill(os.getppid(), signal.SIGKILL)
"""


def test_what_could_not_be_fetched_is_tried_again(build, folder, run):
    """As on a machine where tools/demo has built before tools/test has installed pip, or where a build was interrupted."""
    wheels, python = folder / "example-1.0-py3-none-any.whl", folder / "python"
    (folder / "requirements.txt").write_text(f"example==1.0 --hash=sha256:{wheel(wheels)}\n")
    env = os.environ | {"PIP_NO_INDEX": "1"}

    def fetch(status=0, **more):
        done = run(TOP / "tools" / "fetch-python", folder / "requirements.txt", python, env=env | more)
        assert done.returncode == status
        return done.stderr

    assert "could not be fetched" in fetch() and not any(python.iterdir())
    (folder / "pip").mkdir()
    (folder / "pip" / "__init__.py").touch()
    (folder / "pip" / "__main__.py").write_text(INTERRUPTED)
    assert fetch(-signal.SIGKILL, PYTHONPATH=str(folder)) == "" and not any(python.iterdir())
    assert fetch(PIP_FIND_LINKS=str(folder)) == "" and (python / "example.py").exists()
    assert fetch() == "" and (python / "example.py").exists() and not (python / "part.py").exists()
    assert sorted(p.name for p in folder.glob("python*")) == ["python"]
    commands = subprocess.run(["ninja", "-C", build, "-n", "-v"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for target in "tools/python", "tools/cli/python", "tests/python":
        assert re.search(rf"fetch-python \S+ {target}$", commands, re.M), f"ninja does not try to fetch {target} again"


def test_scripts_name_their_python():
    """Programs of the lab run with the Python that Debian's packages belong to."""
    for name in ("vbng-lab", "fetch-python", "cli/completion", "cli/manual"):
        assert (TOP / "tools" / name).read_text().startswith("#!/usr/bin/python3\n"), name
    assert sys.version_info >= (3, 11)
