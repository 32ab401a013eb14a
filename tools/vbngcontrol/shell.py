# SPDX-License-Identifier: BSD-3-Clause
"""The shell: commands from a terminal, with history and completion, or from a file, up to the first that fails."""

import argparse
import shlex
import sys

from . import sessions
from .gateway import Gateway, Refused

PROMPT = "vbng> "
WORDS = ("exit", "quit", "help")
# What a metavariable stands for, by the request that names it: (command, key of the answer, key of the name).
NAMES = {"PORT": ("show-ports", "ports", "name"), "TASK": ("show-tasks", "tasks", "name")}


def _subcommands(parser):
    return next((a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction)), None)


class Completer:
    """What may stand where the cursor is: commands, options, choices, and names that the gateway knows."""

    def __init__(self, parser, gw):
        self.parser, self.gw = parser, gw
        self.names = {}

    def _names(self, metavar):
        """Names of ports or tasks; none where the gateway does not say."""
        if metavar not in NAMES:
            return []
        if metavar not in self.names:
            cmd, key, name = NAMES[metavar]
            try:
                self.names[metavar] = [o[name] for o in self.gw.ask(cmd)[key]]
            except (Refused, OSError):
                self.names[metavar] = []
        return self.names[metavar]

    @staticmethod
    def _values(parser, before):
        """The option whose value is due behind these words, or the positional argument; None where none is."""
        actions = [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]
        last = next((a for a in actions if before and before[-1] in a.option_strings), None)
        if last is not None and last.nargs != 0:
            return last
        positional = [a for a in actions if not a.option_strings]
        taken = sum(1 for word in before if not word.startswith("-"))
        return positional[min(taken, len(positional) - 1)] if positional else None

    def offers(self, before, text):
        """What may follow the words before, beginning with text."""
        parser, words = self.parser, list(before)
        while words and (inner := _subcommands(parser)) is not None and words[0] in inner:
            parser = inner[words.pop(0)]
        inner = _subcommands(parser)
        if text.startswith("-"):
            found = [o for a in parser._actions for o in a.option_strings if o.startswith("--")]
        elif inner is not None:
            found = list(inner) + ([] if before else list(WORDS))
        else:
            action = self._values(parser, words)
            metavar = action.metavar if action is not None and isinstance(action.metavar, str) else ""
            named = self._names("PORT" if metavar == "SUBSCRIBER" and not words else metavar.partition("[")[0].replace("NAME", "PORT"))
            found = [] if action is None else [*(action.choices or []), *named]
        return sorted({word for word in found if word.startswith(text)})

    def __call__(self, text, state):
        import readline  # only in a terminal

        if state == 0:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            try:
                self.found = self.offers(shlex.split(before), text)
            except ValueError:  # a quotation mark is open
                self.found = []
        return self.found[state] + " " if state < len(self.found) else None


class Shell:
    """A session on one connection, which is made anew where it was lost."""

    def __init__(self, gw, args, parser):
        self.gw, self.args, self.parser = gw, args, parser

    def run(self, line):
        """The exit status of a line; None: the session ends."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as e:
            return self._say(str(e).lower())
        if not words:
            return 0
        if words in (["exit"], ["quit"]):
            return None
        if words == ["help"]:
            words = ["--help"]
        elif words[0] in ("shell", "help"):
            return self._say(f"{words[0]}: expected another command")
        try:
            args = self.parser.parse_args(words, argparse.Namespace())
        except SystemExit as e:  # argparse has said why
            return e.code
        args.json = args.json or self.args.json
        if not hasattr(args, "run"):
            return self._say("expected a command")
        return self._do(args)

    def _say(self, text):
        print(f"vbngctl: {text}", file=sys.stderr)
        return 2

    def _do(self, args):
        try:
            return args.run(sessions.connect(self.args) if getattr(args, "cp", False) else self.gw, args) or 0
        except Refused as e:
            self._say(e)
            self._again()
        except OSError as e:
            if isinstance(e, BrokenPipeError) and sys.stdout.isatty() is False:
                raise
            self._say(e)
            self._again()
        except KeyboardInterrupt:
            print()
            self._again()
        return 1

    def _again(self):
        """A connection on which no answer is due."""
        try:
            self.gw.close()
            self.gw = Gateway(self.args.socket, self.args.timeout)
        except Refused:
            pass  # the next command says so


def _from_terminal(shell):
    import readline

    completer = Completer(shell.parser, shell.gw)
    readline.set_completer(completer)
    readline.set_completer_delims(" \t")
    readline.parse_and_bind("tab: complete")
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            print()
            return 0
        except KeyboardInterrupt:
            print()
            continue
        status = shell.run(line)
        completer.gw = shell.gw
        if status is None:
            return 0


def _from_file(shell):
    for number, line in enumerate(sys.stdin, 1):
        status = shell.run(line)
        if status is None:
            break
        if status != 0:
            print(f"vbngctl: line {number} ends it", file=sys.stderr)
            return status
        sys.stdout.flush()
    return 0


def shell(gw, args):
    """Until exit, quit or the end of the input."""
    from .parser import parser  # which imports this module

    session = Shell(gw, args, parser())
    return _from_terminal(session) if sys.stdin.isatty() else _from_file(session)
