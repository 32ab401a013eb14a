# SPDX-License-Identifier: BSD-3-Clause
"""Reads bad/*.suite: must-fail configurations, several in one file of text (README.md has the format)."""

import dataclasses
import pathlib

CONFIG = "config"  # the part that is the configuration itself


@dataclasses.dataclass
class Case:
    name: str
    source: str  # file:line of its first line
    expected: list = dataclasses.field(default_factory=list)
    args: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)  # name: bytes, the configuration among them

    @property
    def config(self):
        """The name of the configuration's file."""
        return f"{self.name}.cfg"

    def write(self, folder):
        """Write all files of the case below a folder."""
        for name, text in self.files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)


def content(lines, escaped):
    """The bytes of a part: empty lines at its end only separate it from the next one. Where escapes are, ends of lines do not count."""
    if escaped:
        return "".join(lines).encode("ascii").decode("unicode_escape").encode("latin-1")
    return ("\n".join(lines).rstrip("\n") + "\n").encode()


def head_line(case, line):
    """Take a line between the name of a case and its first part. Returns whether it was understood."""
    key, _, value = line.partition(": ")
    if key == "expect" and value:
        case.expected.append(value)
    elif key == "args" and value:
        case.args += value.split()
    else:
        return line.startswith("#")
    return True


def part_name(case, line):
    """(name of the file, whether its text has escapes) of a line that begins a part, or None."""
    words = line.split()[1:]
    if words == [CONFIG]:
        return case.config, False
    if words[:1] == ["file"] and words[2:] in ([], ["escaped"]) and len(words) > 1:
        return words[1], len(words) == 3
    return None


def read(path):
    """The cases of a file, a list of Case. Raises ValueError with file and line where the format is not kept."""
    cases, part, lines = [], None, []

    def wrong(number, why):
        raise ValueError(f"{path}:{number}: {why}")

    def end_part():
        if part is not None:
            name, escaped = part
            cases[-1].files[name] = content(lines, escaped)

    def end_case(number):
        end_part()
        if cases and not cases[-1].expected:
            wrong(number, f"case '{cases[-1].name}' expects nothing")
        if cases and cases[-1].config not in cases[-1].files:
            wrong(number, f"case '{cases[-1].name}' has no part '--- {CONFIG}'")

    number = 0
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("=== "):
            end_case(number)
            name = line[4:]
            if name in (case.name for case in cases):
                wrong(number, f"there are two cases '{name}'")
            cases.append(Case(name, f"{path}:{number}"))
            part = None
        elif cases and line.startswith("--- "):
            end_part()
            part, lines = part_name(cases[-1], line), []
            if part is None or part[0] in cases[-1].files:
                wrong(number, f"expected '--- {CONFIG}' or '--- file NAME [escaped]', each once")
        elif part is not None:
            lines.append(line)
        elif not (head_line(cases[-1], line) if cases else line == "" or line.startswith("#")):
            wrong(number, "expected 'expect: TEXT', 'args: OPTIONS' or '# comment'")
    end_case(number)
    return cases
