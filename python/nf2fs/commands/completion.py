# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 completion`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script

from .app import app, say

completion_init()  # answers the shell's questions, which come by way of a variable


class Shell(str, Enum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script with which your shell completes nf2 commands.

    For bash: `nf2 completion bash > ~/.local/share/bash-completion/completions/nf2`. For zsh: into
    a file `_nf2` in a directory of $fpath. For fish: `nf2 completion fish >
    ~/.config/fish/completions/nf2.fish`.
    """
    say(get_completion_script(prog_name="nf2", complete_var="_NF2_COMPLETE", shell=shell.value))
