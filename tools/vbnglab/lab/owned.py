# SPDX-License-Identifier: BSD-3-Clause
"""Folders and files for results in places that other users may write to, as /tmp: no link that somebody has put there is
followed, and nothing of another user's is written to. Temporary folders are tempfile's, which nobody else can enter."""

import os
import stat

from .failure import Failure


class Unsafe(Failure):
    """Another user could decide what is written to; the text says what to do."""


def _trusted(uid):
    """Oneself, root, and who owns this program: what it does is up to him anyway (as with sudo in his tree)."""
    return uid in (os.geteuid(), 0, os.stat(__file__).st_uid)


def folder(path):
    """Make a folder for results unless it is there, and return its path. Raises Unsafe for one of a stranger, or that
    everybody may write to."""
    os.makedirs(path, mode=0o775, exist_ok=True)
    s = os.stat(path)
    if not _trusted(s.st_uid) or s.st_mode & stat.S_IWOTH:
        raise Unsafe(f"{path}: belongs to another user, or everybody may write to it; choose a folder of your own")
    return path


def runtime(path):
    """Make a folder for DPDK's sockets and locks unless it is there. Raises Unsafe for a link, and for one that is not this
    user's alone."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return  # DPDK says so, or does without
    s = os.lstat(path)
    if not stat.S_ISDIR(s.st_mode) or s.st_uid != os.geteuid() or s.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unsafe(f"{path}: DPDK's run-time folder is not yours alone; set XDG_RUNTIME_DIR to a folder of your own")


def output(path):
    """A text file, opened to be written anew. In a folder of a stranger, or that everybody may write to, it must be new, or
    a plain file with one name of this user's own: Unsafe otherwise."""
    of = os.stat(os.path.dirname(path) or ".")
    if _trusted(of.st_uid) and not of.st_mode & stat.S_IWOTH:
        return open(path, "w", encoding="utf-8")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as e:
        raise Unsafe(f"{path}: {e.strerror}; give another path") from e
    s = os.fstat(fd)
    if not stat.S_ISREG(s.st_mode) or s.st_uid != os.geteuid() or s.st_nlink != 1:
        os.close(fd)
        raise Unsafe(f"{path}: another user's file, or one with a second name; give another path")
    os.ftruncate(fd, 0)
    return open(fd, "w", encoding="utf-8")
