# SPDX-License-Identifier: BSD-3-Clause
"""A file system that can be full: a tmpfs."""

import contextlib
import os
import subprocess
import tempfile


class SmallDisk:
    def __init__(self, folder):
        self.folder = folder
        self._other = os.path.join(folder, "other")

    def fill(self):
        """Leave no room for another block."""
        with open(self._other, "wb", buffering=0) as f, contextlib.suppress(OSError):
            while f.write(bytes(4096)):
                pass

    def make_room(self):
        os.unlink(self._other)


@contextlib.contextmanager
def small_disk(size):
    """Yields a SmallDisk of so many bytes, as mount takes them ("64k"), in a new folder; None where this user may not mount one."""
    folder = tempfile.mkdtemp(prefix="vbng-full-")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], stderr=subprocess.DEVNULL, check=False).returncode == 0
    try:
        yield SmallDisk(folder) if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)
        os.rmdir(folder)
