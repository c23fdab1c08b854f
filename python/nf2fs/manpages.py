# SPDX-License-Identifier: BSD-2-Clause
"""Manual pages of `nf2`, made from the help of its commands: python -m nf2fs.manpages DIRECTORY."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from . import __version__, commands

ONE_LINE = "works on images of NF2FS volumes on NOR flash chips"


def escape(text: str) -> str:
    """Text as roff takes it: nothing of it is a request, and hyphens stay what they are."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
        if part.strip():
            yield " ".join(part.split())


def title(name: str) -> list[str]:
    return [f'.TH "{name.upper()}" 1 "" "nf2fs {__version__}" "NF2FS"']


def option_lines(command) -> list[str]:
    found = []
    for one in command.params:
        if one.param_type_name != "option" or getattr(one, "hidden", False):
            continue
        value = "" if one.is_flag else f" \\fI{escape(one.metavar or one.name.upper())}\\fR"
        names = ", ".join(f"\\fB{escape(name)}\\fR" for name in (*one.opts, *one.secondary_opts))
        found += [".TP", names + value, escape(" ".join((one.help or "").split()))]
    return found + [".TP", "\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Show the help and end."]


def argument_lines(command) -> list[str]:
    found = []
    for one in command.params:
        if one.param_type_name == "argument":
            metavar = escape(one.metavar or one.name.upper())
            found += [".TP", f"\\fI{metavar}\\fR", escape(" ".join((one.help or "").split()))]
    return found


def synopsis(name: str, command) -> str:
    parts = [f"\\fBnf2 {escape(name)}\\fR", "[\\fIOPTIONS\\fR]"]
    for one in command.params:
        if one.param_type_name == "argument":
            metavar = f"\\fI{escape(one.metavar or one.name.upper())}\\fR"
            parts.append(metavar if one.required else f"[{metavar}]")
    return " ".join(parts)


def command_page(name: str, command) -> str:
    first, *rest = paragraphs(command.help)
    lines = title(f"nf2-{name}")
    lines += [".SH NAME", f"nf2\\-{escape(name)} \\- {escape(first.rstrip('.'))}"]
    lines += [".SH SYNOPSIS", synopsis(name, command), ".SH DESCRIPTION", escape(first)]
    for part in rest:
        lines += [".PP", escape(part)]
    if arguments := argument_lines(command):
        lines += [".SH ARGUMENTS", *arguments]
    lines += [".SH OPTIONS", *option_lines(command), ".SH SEE ALSO", "\\fBnf2\\fR(1)"]
    return "\n".join(lines) + "\n"


def main_page(group: Any) -> str:
    lines = title("nf2")
    lines += [".SH NAME", f"nf2 \\- {ONE_LINE}", ".SH SYNOPSIS"]
    lines += ["\\fBnf2\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]", ".SH DESCRIPTION"]
    for part in paragraphs(group.help):
        lines += [escape(part), ".PP"]
    lines += [".SH COMMANDS"]
    for name, command in sorted(group.commands.items()):
        first = next(paragraphs(command.help))
        lines += [".TP", f"\\fBnf2\\-{escape(name)}\\fR(1)", escape(first)]
    lines += [".SH OPTIONS", *option_lines(group)]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """The text of each page, by file name."""
    commands.load()
    group: Any = typer.main.get_command(commands.app)
    found = {
        f"nf2-{name}.1": command_page(name, command) for name, command in group.commands.items()
    }
    return {"nf2.1": main_page(group)} | found


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1:
        sys.exit("usage: python -m nf2fs.manpages DIRECTORY")
    os.makedirs(given[0], exist_ok=True)
    for name, text in pages().items():
        with open(os.path.join(given[0], name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
