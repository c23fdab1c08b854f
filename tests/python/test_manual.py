# SPDX-License-Identifier: BSD-2-Clause
"""Manual pages and shell completion, both made from the commands."""

import os
import posixpath
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from conftest import NATIVE

import nf2fs
from nf2fs import commands, manpages

ROOT = Path(__file__).resolve().parents[2]
BASH, GROFF = shutil.which("bash"), shutil.which("groff")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "python")}


@pytest.fixture(scope="module")
def group():
    commands.load()
    return typer.main.get_command(commands.app)


def test_each_command_and_option_has_its_place(group, tmp_path):
    manpages.main([str(tmp_path)])
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["nf2.1", *(f"nf2-{name}.1" for name in group.commands)]
    )
    for name, command in group.commands.items():
        text = (tmp_path / f"nf2-{name}.1").read_text()
        assert f"nf2\\-{name}" in text
        for one in command.params:
            assert one.help, (name, one.name)
            if one.param_type_name == "option":
                assert all(option.replace("-", "\\-") in text for option in one.opts), (
                    name,
                    one.opts,
                )
        assert f"nf2\\-{name}" in (tmp_path / "nf2.1").read_text()


def test_text_is_never_a_request():
    assert (
        manpages.escape(".so it begins\n'and \\so -on") == "\\&.so it begins\n\\(aqand \\eso \\-on"
    )


@pytest.mark.skipif(GROFF is None, reason="groff is missing (Debian: groff-base)")
def test_groff_takes_them(tmp_path):
    manpages.main([str(tmp_path)])
    for path in sorted(tmp_path.iterdir()):
        done = subprocess.run(
            [GROFF, "-man", "-Tutf8", "-ww", str(path)], capture_output=True, text=True, check=True
        )
        assert done.stderr == "", (path.name, done.stderr)
    assert (
        "--repair"
        in subprocess.run(
            [GROFF, "-man", "-Tascii", "-P-cbou", str(tmp_path / "nf2-check.1")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


def completed(words, where, tmp_path):
    """What bash offers for the last of some words."""
    command = tmp_path / "bin" / "nf2"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m nf2fs.cli "$@"\n')
    command.chmod(0o755)
    script = (
        'source <(nf2 completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_nf2_completion nf2; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = ENVIRONMENT | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [BASH, "-c", script, "bash", *words],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="bash is missing")
def test_bash_completes(tmp_path):
    assert {"map", "mount", "mkdir", "mv"} <= set(completed(["nf2", "m"], tmp_path, tmp_path))
    assert completed(["nf2", "map", "--ht"], tmp_path, tmp_path) == ["--html"]
    assert completed(["nf2", "completion", "z"], tmp_path, tmp_path) == ["zsh"]


@pytest.mark.skipif(BASH is None or NATIVE is None, reason="bash or the library is missing")
def test_bash_completes_paths_and_chips(tmp_path):
    image = tmp_path / "flash.img"
    nf2fs.format_image(image, "tiny256k")
    with nf2fs.open_image(image) as volume:
        for name in ("etc/settings", "etc/setup/x", "log", "long/er"):
            volume.makedirs(posixpath.dirname(name) or "/", exist_ok=True)
            volume.write_bytes(name, b"")
    for words, offered in (
        (("cat", image, "/"), {"/etc/", "/log", "/long/"}),
        (("cat", image, "/etc/se"), {"/etc/settings", "/etc/setup/"}),
        (("cat", image, "lo"), {"log", "long/"}),
        (("rm", image, "/log", "/et"), {"/etc/"}),
        (("get", image, "/etc/setu"), {"/etc/setup/"}),
        (("mv", image, "/log", "/lon"), {"/long/"}),
        (("put", image, "file", "/e"), {"/etc/"}),
        (("ls", "none.img", "/"), set()),
        (("ls", image, "--chip", "w25q51"), {"w25q512"}),
    ):
        assert set(completed(["nf2", *map(str, words)], tmp_path, tmp_path)) == offered, words


@pytest.mark.parametrize(
    "shell, word",
    (("zsh", "#compdef nf2"), ("fish", "complete --command nf2"), ("bash", "complete -o")),
)
def test_scripts_of_the_shells(nf2, shell, word):
    code, out, _ = nf2("completion", shell)
    assert code == 0 and word in out and "_NF2_COMPLETE" in out
    assert nf2("completion", "csh")[0] == 2
