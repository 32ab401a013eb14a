# SPDX-License-Identifier: BSD-3-Clause
"""What a check has found."""

from dataclasses import asdict, dataclass

OK, NOTE, BAD = "ok", "note", "bad"  # bad: it will not start, or figures will be wrong


@dataclass(frozen=True)
class Finding:
    check: str
    level: str
    found: str  # what is
    wanted: str = ""  # what should be; empty when it is
    why: str = ""
    mend: str = ""  # the command that makes it so, or what to change; as root

    def as_dict(self):
        return asdict(self)


def ok(check, found):
    return Finding(check, OK, found)


def size(n):
    """Bytes in words."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= scale:
            return f"{n / scale:.4g} {unit}"
    return f"{n} B"
