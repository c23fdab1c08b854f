# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 completion`."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script

from .. import show
from .app import app, say

completion_init()  # answers the shell's questions, which come by way of a variable
SHELLS = ("bash", "zsh", "fish")


@app.command()
def completion(
    shell: Annotated[
        str,
        typer.Argument(
            metavar="SHELL", help="bash, zsh or fish.", autocompletion=lambda: list(SHELLS)
        ),
    ],
) -> None:
    """Print a script with which your shell completes nf2 commands.

    For bash: `nf2 completion bash > ~/.local/share/bash-completion/completions/nf2`. For zsh: into
    a file `_nf2` in a directory of $fpath. For fish: `nf2 completion fish >
    ~/.config/fish/completions/nf2.fish`.
    """
    if shell not in SHELLS:
        text = f"there is no script for {show.printable(shell)}, only for bash, zsh and fish"
        raise typer.BadParameter(text, param_hint="SHELL")
    say(get_completion_script(prog_name="nf2", complete_var="_NF2_COMPLETE", shell=shell))
