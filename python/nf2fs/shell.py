# SPDX-License-Identifier: BSD-2-Clause
"""A prompt on a volume that stays mounted: `nf2 shell`."""

from __future__ import annotations

import cmd
import os
import posixpath
import re
import shlex
import sys
from collections.abc import Callable

from rich.console import Console

from . import interrupts, show, trees
from .commands._copying import count_text, report_skipped, report_unread
from .commands.rm import below, remove
from .errors import INVAL, ISDIR, NOTDIR, NF2Error
from .volume import COPY_SIZE, Volume

HELP = {
    "ls": ("ls [-l] [PATH...]", "List directories; -l shows sizes, too."),
    "tree": ("tree [PATH]", "Draw a directory and everything below it."),
    "cd": ("cd [PATH]", "Change the directory on the volume."),
    "pwd": ("pwd", "Say which directory of the volume this is."),
    "lcd": ("lcd [PATH]", "Change the directory of the host, for put and get."),
    "cat": ("cat PATH...", "Show files."),
    "put": ("put SOURCE [TARGET]", "Copy a file or directory of the host into the volume."),
    "get": ("get SOURCE [TARGET]", "Copy a file or directory out of the volume."),
    "cp": ("cp SOURCE TARGET", "Copy a file on the volume."),
    "mv": ("mv SOURCE TARGET", "Move or rename; a file at the new path is replaced."),
    "rm": ("rm [-r] PATH...", "Remove files; -r removes directories with all that is in them."),
    "mkdir": ("mkdir [-p] PATH...", "Make directories; -p makes those above, too."),
    "df": ("df", "Show used and free space."),
    "help": ("help [COMMAND]", "Show this, or the help of one command."),
    "exit": ("exit", "Unmount the volume, and end. So does Ctrl-D."),
}
OPTIONS = {"ls": "l", "rm": "r", "mkdir": "p"}
MOST = 500  # names that completion offers


class Shell(cmd.Cmd):
    """Runs lines; the volume is that of the caller, who closes it."""

    def __init__(self, volume: Volume, image: str):
        super().__init__()
        self.volume, self.image = volume, image
        self.place = "/"

    # ---- lines ----

    @property
    def prompt(self) -> str:  # type: ignore[override]
        return f"{show.printable(os.path.basename(self.image))}:{show.printable(self.place)}> "

    def onecmd(self, line: str) -> bool:
        """Runs one line; True ends the shell. Raises what goes wrong."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise NF2Error(INVAL, f"{str(error)[0].lower()}{str(error)[1:]}") from None
        if not words:
            return False
        name, *given = words
        name = {"quit": "exit", "EOF": "exit", "?": "help", "ll": "ls"}.get(name, name)
        if name not in HELP:
            raise NF2Error(INVAL, f"no such command: {name} (help lists them)")
        options = "l" if words[0] == "ll" else ""
        while given and re.fullmatch(r"-\w+", given[0]):
            option = given.pop(0)[1:]
            if set(option) - set(OPTIONS.get(name, "")):
                raise NF2Error(INVAL, f"no such option: -{option}; usage: {HELP[name][0]}")
            options += option
        if given[:1] == ["--"]:
            del given[0]
        return bool(getattr(self, f"run_{name}")(options, *self._checked(name, given)))

    def _checked(self, name: str, given: list[str]) -> list[str]:
        """Refuses a wrong number of words."""
        usage = HELP[name][0]
        least = len(re.findall(r"(?<![\[A-Z])[A-Z]+", re.sub(r"\[[^\]]*\]", "", usage)))
        most = len(re.findall(r"[A-Z]+", usage)) if "..." not in usage else len(given)
        if not least <= len(given) <= most or "" in given:
            raise NF2Error(INVAL, f"usage: {usage}")
        return given

    def path(self, text: str) -> str:
        found = posixpath.normpath(posixpath.join(self.place, text))
        return "/" + found.strip("/") + "/" * (text.endswith("/") and found.strip("/") != "")

    def converse(self) -> None:
        """Lines from a terminal: what goes wrong, and Ctrl-C, end one line only."""
        while True:
            try:
                if self.onecmd(input(self.prompt)):
                    return
            except EOFError:
                print()
                return
            except interrupts.Interrupted as stop:
                if stop.number != interrupts.SIGNALS[0]:
                    raise
                print(f"\nnf2: interrupted{f': {stop.done}' if stop.done else ''}", file=sys.stderr)
                interrupts.raise_once()
            except (NF2Error, OSError) as error:
                print(f"nf2: {show.error_line(error)}", file=sys.stderr)

    def obey(self, lines) -> None:
        """Lines of a script: the first one that fails ends it."""
        for number, line in enumerate(lines, 1):
            try:
                if self.onecmd(line):
                    return
            except (NF2Error, OSError) as error:
                path = getattr(error, "path", None) or getattr(error, "filename", None)
                text = getattr(error, "text", None) or getattr(error, "strerror", None) or str(error)
                about = f"{show.printable(str(path))}: " if path else ""
                raise NF2Error(getattr(error, "code", INVAL), f"line {number}: {about}{text}") from None

    # ---- commands ----

    def run_ls(self, options: str, *paths: str) -> None:
        for path in paths or (".",):
            entry = self.volume.stat(self.path(path))
            entries = self.volume.scandir(self.path(path)) if entry.is_dir() else [entry]
            if len(paths) > 1 and entry.is_dir():
                print(f"{show.printable(path)}:")
            for one in entries:
                name = show.printable(one.name) + "/" * one.is_dir()
                print(f"{'d' if one.is_dir() else 'f'} {one.size:>10}  {name}" if "l" in options else name)

    def run_tree(self, _options: str, path: str = ".") -> None:
        for line in show.tree_lines(self.volume, self.path(path), None)[0]:
            print(line)

    def run_cd(self, _options: str, path: str = "/") -> None:
        place = self.path(path)
        if not self.volume.stat(place).is_dir():
            raise NF2Error(NOTDIR, "is a file", place)
        self.place = place.rstrip("/") or "/"

    def run_pwd(self, _options: str) -> None:
        print(show.printable(self.place))

    def run_lcd(self, _options: str, path: str = "~") -> None:
        os.chdir(os.path.expanduser(path))
        print(show.printable(os.getcwd()))

    def run_cat(self, _options: str, *paths: str) -> None:
        for path in paths:
            if self.volume.stat(self.path(path)).is_dir():
                raise NF2Error(ISDIR, "is a directory", self.path(path))
            sys.stdout.flush()
            with self.volume.open(self.path(path), "rb", buffering=0) as file:
                while piece := file.read(COPY_SIZE):
                    sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()

    def run_put(self, _options: str, source: str, target: str = ".") -> None:
        source, place = os.path.expanduser(source), self.path(target)
        if not os.path.exists(source):
            raise FileNotFoundError(2, "No such file or directory on the host", source)
        if not os.path.isdir(source) and (place.endswith("/") or self.volume.isdir(place)):
            place = posixpath.join(place, os.path.basename(source))
        plan = trees.plan_put(source, place, self.image, False)
        trees.refuse_too_large(self.volume, plan)
        trees.run_put(self.volume, plan)
        report_skipped(plan)
        print(f"{count_text(len(plan.files), plan.bytes)} put into {show.printable(place)}")

    def run_get(self, _options: str, source: str, target: str = ".") -> None:
        path, target = self.path(source), os.path.expanduser(target)
        entry = self.volume.stat(path)
        if entry.is_file() and (os.path.isdir(target) or target.endswith(os.sep)):
            if trees.refuse_name(entry.name):
                raise NF2Error(INVAL, f"refused: {trees.refuse_name(entry.name)}", path)
            os.makedirs(target, exist_ok=True)
            target = os.path.join(target, trees.host_name(entry.name))
        plan = trees.plan_get(self.volume, path, target)
        trees.run_get(self.volume, plan, target)
        report_skipped(plan)
        report_unread(plan)
        print(f"{count_text(plan.done, plan.done_bytes)} copied to {show.printable(target)}")
        if plan.skipped or plan.unread:
            raise NF2Error(INVAL, "not everything was copied: what is missing is listed above")

    def run_cp(self, _options: str, source: str, target: str) -> None:
        path, place = self.path(source), self._into(source, target)
        if self.volume.stat(path).is_dir():
            raise NF2Error(ISDIR, "is a directory; cp copies files", path)
        if path == place:
            raise NF2Error(INVAL, "is the file itself", place)
        with self.volume.open(path, "rb", buffering=0) as data:
            with trees.replacing(self.volume, place) as copy:
                while piece := data.read(COPY_SIZE):
                    copy.write(piece)
                    interrupts.check()

    def run_mv(self, _options: str, source: str, target: str) -> None:
        self.volume.rename(self.path(source), self._into(source, target))

    def _into(self, source: str, target: str) -> str:
        """Where something goes that may go into a directory."""
        place = self.path(target)
        if self.volume.isdir(place) and place.strip("/") != self.path(source).strip("/"):
            return posixpath.join(place, posixpath.basename(self.path(source).rstrip("/")))
        return place

    def run_rm(self, options: str, *paths: str) -> None:
        full = [self.path(path) for path in paths]
        if "/" in full and "r" not in options:
            raise NF2Error(INVAL, "the root cannot be removed; -r removes what is in it", "/")
        remove(self.volume, [name for path in full for name in below(self.volume, path, "r" in options)])
        while self.place != "/" and not self.volume.isdir(self.place):
            self.place = posixpath.dirname(self.place)

    def run_mkdir(self, options: str, *paths: str) -> None:
        for path in paths:
            if "p" in options:
                self.volume.makedirs(self.path(path), exist_ok=True)
            else:
                self.volume.mkdir(self.path(path))

    def run_df(self, _options: str) -> None:
        Console(highlight=False, markup=False, soft_wrap=True).print(show.df_table(self.volume))

    def run_help(self, _options: str, command: str | None = None) -> None:
        if command is not None and command not in HELP:
            raise NF2Error(INVAL, f"no such command: {command}")
        for usage, text in HELP.values() if command is None else [HELP[command]]:
            print(f"{usage:<22}{text}")

    def run_exit(self, _options: str) -> bool:
        return True

    # ---- completion ----

    def complete(self, text: str, state: int) -> str | None:
        """As readline asks: the `state`-th thing that the word may become."""
        import readline

        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            self._offered = self.offers(line, readline.get_begidx())
        return self._offered[state] if state < len(self._offered) else None

    def offers(self, line: str, begin: int) -> list[str]:
        """What may stand from `begin` on; the word may have begun before, with what is escaped."""
        words, word, start, quote = unfinished_word(line)
        try:
            found = self._candidates(words, word)
        except (OSError, ValueError):
            return []
        return [(quote + one if quote else escaped(one))[begin - start :] for one in found[:MOST]]

    def _candidates(self, words: list[str], word: str) -> list[str]:
        if not words:
            return [f"{name} " for name in HELP if name.startswith(word)]
        command = words[0]
        given = [one for one in words[1:] if not one.startswith("-")]
        if command == "help":
            return [name for name in HELP if name.startswith(word)]
        if command == "lcd" or (command, len(given)) in (("put", 0), ("get", 1)):
            return _host_paths(word)
        above, begun = posixpath.split(word)
        entries = self.volume.iterdir(self.path(above or "."))
        return [
            posixpath.join(above, entry.name) + "/" * entry.is_dir()
            for entry in entries
            if entry.name.startswith(begun) and (command != "cd" or entry.is_dir())
        ]


def _host_paths(word: str) -> list[str]:
    above, begun = os.path.split(word)
    with os.scandir(os.path.expanduser(above) or ".") as entries:
        return sorted(
            os.path.join(above, entry.name) + os.sep * entry.is_dir()
            for entry in entries
            if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
        )


def escaped(word: str) -> str:
    """As a word of a line; what completion put behind it stays."""
    end = " " * word.endswith(" ") if word.rstrip(" ") in HELP else ""
    return re.sub(r"([\s\\'\"#])", r"\\\1", word.removesuffix(end) if end else word) + end


def unfinished_word(line: str) -> tuple[list[str], str, int, str]:
    """The words of a line, the last one as far as it is written, where it begins, and its quote."""
    words: list[str] = []
    word, start, quote, at = "", len(line), "", 0
    opened = ""  # the quote that the word began with, as long as it is open
    while at < len(line):
        letter = line[at]
        if start == len(line) and not letter.isspace():
            start, word = at, ""
        if quote:
            if letter == quote:
                quote = opened = ""
            else:
                word += letter
        elif letter in "'\"":
            quote, opened = letter, letter if at == start else ""
        elif letter == "\\" and at + 1 < len(line):
            at += 1
            word += line[at]
        elif letter.isspace():
            if start < len(line):
                words.append(word)
            word, start = "", len(line)
        else:
            word += letter
        at += 1
    return words, word, start, opened


def use_readline(shell: Shell) -> Callable[[], None]:
    """Editing, history and completion, where Python has them; what undoes it."""
    try:
        import readline
    except ImportError:
        return lambda: None
    before = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(shell.complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("tab: complete")

    def undo() -> None:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])

    return undo
