# SPDX-License-Identifier: BSD-3-Clause
"""What a running vbng says of its types of task; `vbng --help json` prints the same (doc/schemas/tasks.json)."""


class Schema:
    """Types of task, and the words for every reason that a packet can be lost for."""

    def __init__(self, document):
        self.tasks = {t["type"]: t for t in document["tasks"]}  # in the order of the program's list
        self.common = {d["name"]: d for d in document["drops"]}  # reasons that every task has
        self._ports = {d["name"]: d for d in document["ports"]}  # what a device counts as lost
        self._drops = {(t["type"], d["name"]): d for t in document["tasks"] for d in t["drops"]}

    def drop(self, task_type, reason):
        """(meaning, remedy) of a reason of a type of task; two empty strings where that has no such reason."""
        return _words(self._drops.get((task_type, reason)) or self.common.get(reason))

    def port(self, counter):
        """The same of what a device counts as lost."""
        return _words(self._ports.get(counter))


def _words(row):
    return (row["meaning"], row["remedy"]) if row else ("", "")
