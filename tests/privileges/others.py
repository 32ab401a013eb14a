# SPDX-License-Identifier: BSD-3-Clause
"""What another user has put in the way: links to a victim's files, files and sockets of his own. Nothing of it is followed,
removed or believed. The victim is who runs vbng; the other is the user nobody, whom only root can act as."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys

from tests.common.limits import limit
from vbnglab.lab import owned

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools", "vbng-lab")

NOBODY = 65534
SECRET = "what the victim must not lose\n"
BECOME = "import os, socket, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.umask(0)\n"
REFUSED = 3  # exit status of vbng


def dead():
    """The number of a process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def as_nobody(code, *args):
    subprocess.run([sys.executable, "-c", BECOME + code, *args], check=True)


def folder_with(path, *names):
    os.mkdir(path, 0o700)
    for name in names:
        with open(os.path.join(path, name), "w", encoding="utf-8") as f:
            f.write(SECRET)
    return path


def lost(folder, *names):
    """Which files of a victim are not as they were."""
    wrong = []
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            wrong.append(f"deleted: {path}")
        elif open(path, encoding="utf-8").read() != SECRET:
            wrong.append(f"overwritten: {path}")
    return wrong


class Tmp:
    """A folder as /tmp is, and a victim's folder beside it. run() starts vbng with it in the place of /tmp."""

    def __init__(self, place):
        self.place = place

    def __enter__(self):
        self.path = os.path.join(self.place.path, "tmp")
        os.mkdir(self.path)
        os.chmod(self.path, 0o1777)
        # as ~/.ssh or .git: with the name by which a run-time folder is known
        self.victim = folder_with(os.path.join(self.place.path, "victim"), "config", "id_ed25519")
        self.dpdk = os.path.join(self.path, "dpdk")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)
        shutil.rmtree(self.victim)

    def run(self, *options, before=()):
        base = self.place.demo[: self.place.demo.index("--control")]
        return subprocess.run([*before, *base, *options, self.place.demo[-1]], cwd=self.path, capture_output=True, text=True, timeout=limit(100),
                              check=False, env=os.environ | {"RUNTIME_DIRECTORY": self.path})  # fmt: skip

    def lost(self):
        return lost(self.victim, "config", "id_ed25519")


def status(done, expected, words=""):
    """What is wrong with the end of a run."""
    if done.returncode == expected and words in done.stderr:
        return []
    return [f"exit status {done.returncode}, not {expected} with '{words}': {done.stdout[-200:]}{done.stderr}"]


def sweep(place):
    """In one's own folder a dead vbng's folder goes, and a link of such a name is not followed; nor is another user's touched."""
    with Tmp(place) as tmp:
        os.mkdir(tmp.dpdk, 0o700)
        link, mine, theirs = (os.path.join(tmp.dpdk, f"vbng-{dead()}") for _ in range(3))
        os.symlink(tmp.victim, link)
        folder_with(mine, "config", "fbarray_memzone")
        if os.getuid() == 0:
            folder_with(theirs, "config")
            os.chown(theirs, NOBODY, NOBODY)
        wrong = status(tmp.run(), 0) + tmp.lost()
        wrong += [f"not swept: {mine}"] * os.path.exists(mine)
        left = {os.path.basename(link)} | ({os.path.basename(theirs)} if os.getuid() == 0 else set())
        return wrong + [f"left: {os.listdir(tmp.dpdk)}, not {left}"] * (set(os.listdir(tmp.dpdk)) != left)


def planted(place, make):
    """A run-time folder's parent in which another user has made a link to the victim's folder: vbng refuses it."""
    with Tmp(place) as tmp:
        make(tmp.dpdk)
        as_nobody("os.symlink(sys.argv[1], sys.argv[2])", tmp.victim, os.path.join(tmp.dpdk, f"vbng-{dead()}"))
        before = os.listdir(tmp.dpdk)
        wrong = status(tmp.run(), REFUSED, "nobody else may write to") + tmp.lost()
        return wrong + [f"something was made there: {os.listdir(tmp.dpdk)}"] * (os.listdir(tmp.dpdk) != before)


def foreign_parent(place):
    return planted(place, lambda path: as_nobody("os.mkdir(sys.argv[1], 0o777)", path))


def open_parent(place):
    def make(path):
        os.mkdir(path)
        os.chmod(path, 0o777)

    return planted(place, make)


def linked_parent(place):
    """/tmp/dpdk itself is another user's link to a folder of the victim."""
    with Tmp(place) as tmp:
        swept = os.path.join(tmp.victim, f"vbng-{dead()}")
        folder_with(swept, "config")
        as_nobody("os.symlink(sys.argv[1], sys.argv[2])", tmp.victim, tmp.dpdk)
        wrong = status(tmp.run(), REFUSED, "nobody else may write to") + tmp.lost() + lost(swept, "config")
        return wrong + [f"something was made there: {os.listdir(tmp.victim)}"] * (len(os.listdir(tmp.victim)) != 3)


def outputs(place):
    """A link that lies where a report, samples or subscribers go is not followed; one's own file is written again."""
    wrong = []
    with Tmp(place) as tmp:
        os.mkdir(tmp.dpdk, 0o700)
        out = os.path.join(tmp.path, "out")
        for option in ("--report", "--sample", "--subscribers"):
            os.symlink(os.path.join(tmp.victim, "config"), out)
            wrong += [f"{option}: {w}" for w in status(tmp.run(option, out), REFUSED, "remove it") + tmp.lost()]
            os.unlink(out)
            for _ in range(2):
                wrong += [f"{option}: {w}" for w in status(tmp.run(option, out), 0)]
            wrong += [f"{option}: nothing is written"] * (not os.path.getsize(out))
            os.unlink(out)
        wrong += status(tmp.run("--report", "/dev/stdout"), 0)
    return wrong


def state(place):
    """A state file of another user is not believed, and a link not followed; both stay."""
    with Tmp(place) as tmp:
        os.mkdir(tmp.dpdk, 0o700)
        path = os.path.join(tmp.path, "state")
        os.symlink(os.path.join(tmp.victim, "config"), path)
        wrong = status(tmp.run("--state", path), REFUSED, "symbolic link") + tmp.lost()
        os.unlink(path)
        as_nobody("open(sys.argv[1], 'w').write('theirs')", path)
        wrong += status(tmp.run("--state", path), REFUSED, "another user's")
        with open(path, encoding="utf-8") as f:
            return wrong + ["the other's file is not what it was"] * (f.read() != "theirs")


def control(place):
    """Another user's socket on which nobody listens stays, and so does a link."""
    with Tmp(place) as tmp:
        os.mkdir(tmp.dpdk, 0o700)
        path = os.path.join(tmp.path, "c")
        as_nobody("socket.socket(socket.AF_UNIX).bind(sys.argv[1])", path)
        wrong = status(tmp.run("--control", path), REFUSED, "another user's socket")
        wrong += ["the other's socket is gone"] * (not os.path.exists(path) or os.stat(path).st_uid != NOBODY)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.join(tmp.victim, "s"))
        os.symlink(os.path.join(tmp.victim, "s"), path)
        wrong += status(tmp.run("--control", path), REFUSED, "no socket")
        return wrong + ["the link was followed"] * (not os.path.exists(path))


HUGE = """
os.mkfifo(sys.argv[1] + "map_0", 0o666)
os.close(os.open(sys.argv[1] + "map_1", os.O_CREAT | os.O_WRONLY, 0o666))"""


def hugepages(place):
    """In a hugetlbfs that is everybody's, as /tmp, only one's own files are swept, and a FIFO of such a name delays nobody."""
    with Tmp(place) as tmp:
        os.mkdir(tmp.dpdk, 0o700)
        huge, number = os.path.join(tmp.path, "huge"), dead()
        os.mkdir(huge)
        prefix = os.path.join(huge, f"vbng-{number}")
        script = ('mount -t hugetlbfs -o mode=1777 none "$0" && : >"$1map_2" && "$2" -c "$3" "$1" &&'
                  ' shift 3 && timeout -s KILL 60 "$@" && exec ls "$0"')  # fmt: skip
        done = tmp.run(before=["unshare", "-m", "sh", "-c", script, huge, prefix, sys.executable, BECOME + HUGE])
        files = [line for line in done.stdout.splitlines() if line.startswith("vbng-")]
        expected = [f"vbng-{number}map_{i}" for i in (0, 1)]
        return status(done, 0) + [f"left: {files}, not {expected}"] * (files != expected)


def refuses(call, *args):
    try:
        call(*args)
    except owned.Unsafe:
        return []
    return [f"not refused: {call.__name__}{args}"]


def tools(place):
    """Where the tools write results: the same rules, in Python."""
    with Tmp(place) as tmp:
        config, link = os.path.join(tmp.victim, "config"), os.path.join(tmp.path, "link")
        os.symlink(config, link)
        os.link(config, os.path.join(tmp.path, "hard"))
        own = owned.folder(os.path.join(tmp.path, "own"))
        wrong = refuses(owned.folder, tmp.path) + refuses(owned.output, link) + refuses(owned.output, os.path.join(tmp.path, "hard"))
        os.symlink(own, tmp.dpdk)
        wrong += refuses(owned.runtime, tmp.dpdk) + refuses(owned.runtime, tmp.path) + tmp.lost()
        owned.runtime(os.path.join(own, "dpdk"))
        wrong += ["its mode is not 0700"] * (stat.S_IMODE(os.stat(os.path.join(own, "dpdk")).st_mode) != 0o700)
        for path in (os.path.join(own, "out"), os.path.join(tmp.path, "out")) * 2:
            with owned.output(path) as f:
                f.write("new")
        if os.getuid() == 0:
            os.chown(own, NOBODY, NOBODY)
            wrong += refuses(owned.folder, own) + refuses(owned.runtime, own)
        done = subprocess.run([sys.executable, LAB, "experiment", "fig5", "--vbng", place.binary, "--out", tmp.path], capture_output=True, text=True, check=False)
        return wrong + status(done, 1, "choose a folder of your own")


def no_other():
    return None if os.getuid() == 0 else "only root can act as another user"


def no_hugetlbfs():
    if os.getuid() != 0:
        return no_other()
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "hugetlbfs", "none", "/mnt"], capture_output=True, text=True, check=False)
    return f"no hugetlbfs: {probe.stderr.strip()}" if probe.returncode else None


CASES = (("another's link among dead run-time folders", sweep, lambda: None),
         ("DPDK's folder is another's", foreign_parent, no_other),
         ("DPDK's folder is everybody's", open_parent, no_other),
         ("DPDK's folder is another's link", linked_parent, no_other),
         ("a link in the place of an output", outputs, lambda: None),
         ("another's state file", state, no_other),
         ("another's control socket", control, no_other),
         ("another's files among huge pages", hugepages, no_hugetlbfs),
         ("what the tools write", tools, lambda: None))  # fmt: skip
