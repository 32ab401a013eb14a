# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages for the time of a measurement: reserved, and given back whatever happens."""

import os

ROOT = "/sys/kernel/mm/hugepages"
COMPACT = "/proc/sys/vm/compact_memory"
SIZES = {"2M": 2048, "1G": 1048576}  # KiB


class NoPages(Exception):
    """The huge pages cannot be reserved; the text says why."""


def _path(size, name, root):
    return os.path.join(root, f"hugepages-{SIZES[size]}kB", name)


def _number(path):
    with open(path, encoding="ascii") as f:
        return int(f.read())


def free(size):
    """Number of free huge pages of a size ("2M", "1G")."""
    return _number(_path(size, "free_hugepages", ROOT))


def needed(total_bytes, size):
    """Pages for a plan's total of bytes: vbng asks for an eighth and 64 MiB more."""
    return -(-(total_bytes + total_bytes // 8 + (64 << 20)) // (SIZES[size] * 1024))


class Reserved:
    """A context in which at least so many pages of a size are free, and none of another size, which DPDK might take instead.
    Its end restores the number of pages from before."""

    def __init__(self, size, pages, root=ROOT):
        self.size, self.pages, self.root = size, pages, root
        self.before = None

    def __enter__(self):
        path = _path(self.size, "nr_hugepages", self.root)
        if not os.path.exists(path):
            raise NoPages(f"this machine has no huge pages of {self.size}")
        for other in (s for s in SIZES if s != self.size and os.path.exists(_path(s, "free_hugepages", self.root))):
            if _number(_path(other, "free_hugepages", self.root)):
                raise NoPages(f"there are free huge pages of {other}, which the program would take, too: release them")
        free = _number(_path(self.size, "free_hugepages", self.root))
        if free >= self.pages:
            return self
        self.before = _number(path)
        try:
            have = self._reserve(self.before + self.pages - free)
        except PermissionError:
            self.before = None
            raise NoPages(f"reserving huge pages of {self.size} needs root") from None
        if have < self.pages:
            self.__exit__()
            raise NoPages(f"the kernel gave {have} of {self.pages} huge pages of {self.size}: memory is short, or in pieces")
        return self

    def _reserve(self, number):
        """Ask the kernel for a total number of pages, and once more after compaction where it gave too few. Returns how many
        are free then."""
        for gather in (True, False):
            self._write(number)
            have = _number(_path(self.size, "free_hugepages", self.root))
            if have >= self.pages or not gather or self.root != ROOT:
                break
            with open(COMPACT, "w", encoding="ascii") as f:
                f.write("1")
        return have

    def __exit__(self, *_):
        if self.before is not None:
            self._write(self.before)
            self.before = None

    def _write(self, number):
        with open(_path(self.size, "nr_hugepages", self.root), "w", encoding="ascii") as f:
            f.write(str(number))
