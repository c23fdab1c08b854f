# SPDX-License-Identifier: BSD-2-Clause
"""`nf2`: image files of NF2FS volumes. The commands are the modules of `nf2fs.commands`.

Exit codes: 0 done, 1 an error, 2 wrong usage, 128 + N ended by signal N (`nf2 check` and `nf2 get`
have others). What is imported late is imported late so that a signal is not met by a traceback:
before `main` only Python itself can be interrupted, and what this module imports.
"""

from __future__ import annotations

import io
import os
import sys

OUTPUT = "standard output"
ANSWERS = ("check", "diff")  # 1 is what these found: trouble is 2


def run(application, name: str, arguments: list[str] | None) -> None:
    """Runs a command line and turns errors into one line and an exit code; the process ends with
    it."""
    sys.exit(_run(application, name, arguments))


def _run(application, name: str, arguments: list[str] | None) -> int:
    from .errors import LibraryMissing, NF2Error
    from .show import error_line

    _name_output()
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if name == "nf2":
            _refuse_empty(given)
        try:
            application(arguments, prog_name=name)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _give_output_up()
    except (NF2Error, LibraryMissing, OSError) as error:
        print(f"{name}: {error_line(error)}", file=sys.stderr)
        if getattr(error, "filename", None) == OUTPUT:
            _give_output_up()
        elif name == "nf2" and "--json" in given:
            _print_error(error)
    return 2 if name == "nf2" and given and given[0] in ANSWERS else 1


def _print_error(error: Exception) -> None:
    """Programs that ask for JSON get the error as JSON, too, where the answer would be."""
    import json

    from .errors import name_of

    path = getattr(error, "path", None) or getattr(error, "filename", None)
    text = getattr(error, "text", None) or getattr(error, "strerror", None) or str(error)
    said = {"code": name_of(error), "text": text, "path": None if path is None else str(path)}
    try:
        print(json.dumps({"error": said}, indent=2), flush=True)
    except OSError:
        _give_output_up()


def _refuse_empty(given: list[str]) -> None:
    """An empty word is a variable of the shell that was not set: nothing is named so."""
    from .errors import INVAL, NF2Error

    if "" in given:
        behind = (["nf2"] + given)[given.index("")]
        text = f"the argument behind {behind} is empty; a name or a path is needed there"
        raise NF2Error(INVAL, text)


class _Output(io.FileIO):
    """Standard output: errors say that they are about it."""

    def write(self, data) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, OUTPUT) from None


class _Unbuffered(io.BufferedWriter):
    """For PYTHONUNBUFFERED and -u: nothing waits."""

    def write(self, data) -> int:
        count = super().write(data)
        self.flush()
        return count


def _name_output() -> None:
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper):
        return
    out.reconfigure(errors="surrogateescape")
    if out is sys.__stdout__ and not isinstance(getattr(out.buffer, "raw", None), _Output):
        out.flush()
        raw = _Output(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            (_Unbuffered if out.write_through else io.BufferedWriter)(raw),
            out.encoding,
            "surrogateescape",
            line_buffering=out.line_buffering,
            write_through=out.write_through,
        )


def _give_output_up() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _meet_signals() -> None:
    """Until the first handler is there Ctrl-C raises KeyboardInterrupt, and the finalizers of an
    import swallow it."""
    before = sys.unraisablehook

    def end() -> None:
        os.write(2, b"nf2: interrupted\n")
        os._exit(130)

    def swallowed(lost) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            end()
        before(lost)

    sys.unraisablehook = swallowed
    try:
        from . import interrupts

        interrupts.end_quietly("nf2")
    except KeyboardInterrupt:
        end()
    finally:
        sys.unraisablehook = before


def main(arguments: list[str] | None = None) -> None:
    _meet_signals()
    from . import commands, interrupts

    commands.load()
    code: int | str | None
    try:
        interrupts.raise_once()
        try:
            code = _run(commands.app, "nf2", arguments)
        except SystemExit as done:
            code = done.code
        interrupts.ignore()
    except interrupts.Interrupted as stop:
        print(f"nf2: interrupted{f': {stop.done}' if stop.done else ''}", file=sys.stderr)
        code = 128 + stop.number
        interrupts.ignore()
    sys.exit(code)


if __name__ == "__main__":
    main()
