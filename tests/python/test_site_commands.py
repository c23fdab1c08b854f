# SPDX-License-Identifier: BSD-2-Clause
"""All pages of the site: each block of code has something that runs it, each command that a page
names exists with the options that it is given, and so does each file.

What runs the blocks: tests/python/test_site.py (the guide, as a reader would), test_python_api.py
(PYTHON.md), tests/ports/test_dropin.py and the test of the FreeRTOS block here (PORTING.md). The
commands outside of blocks may run for hours: here they are parsed, and make is asked with -n.
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import nf2fs
from nf2fs import bench_cli, commands, native
from nf2fs.commands import app as nf2_app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAV = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
WITH_README = [*NAV, "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md"]
RUN_BY = {  # the guide: all kinds, by test_site.py
    "PYTHON.md": {"python"},
    "PORTING.md": {"c", "cmake", "sh"},
    "FRAMEWORKS.md": {"c", "cmake", "cpp", "dts", "ini", "sh"},  # by test_frameworks_page.py
}
DIAGRAM = ""  # a fence without a language
FREERTOS = Path(os.environ.get("NF2FS_FREERTOS_DIR", ROOT / "build" / "freertos"))


def page(name):
    return (DOCS / name).read_text()


def in_guide(name):
    return name == "index.md" or name.startswith("guide/")


def without_fences(text):
    return FENCE.sub("", text)


def commands_of(text):
    """The command lines in indented blocks, and between backticks."""
    text = without_fences(text)
    found = [line[4:] for line in re.findall(r"^    \S.*$", text, re.M)]
    found += [one.replace("\n", " ") for one in re.findall(r"`([^`]+)`", text)]
    names = ("nf2 ", "norbench ", "make ", "torture ", "build/venv/bin/n")
    names += ("build/release/tests", "build/asan/tests")
    return sorted({re.sub(r"\s+#.*", "", one) for one in found if one.startswith(names)})


def applications():
    commands.load()
    return {
        "nf2": typer.main.get_command(nf2_app),
        "norbench": typer.main.get_command(bench_cli.app),
    }


def test_the_pages_are_found():
    assert len(NAV) > 15 and all((DOCS / name).is_file() for name in NAV)
    assert commands_of("    nf2 ls x   # all\n`make a\nb` `norbench`\n```c\n    nf2 no\n```\n") == [
        "make a b",
        "nf2 ls x",
    ]


@pytest.mark.parametrize("name", NAV)
def test_each_block_is_run_somewhere(name):
    kinds = {kind for kind, _ in FENCE.findall(page(name))}
    if not in_guide(name):
        assert kinds <= RUN_BY.get(name, set()) | {DIAGRAM}


@pytest.mark.parametrize("name", NAV)
def test_each_indented_block_is_commands(name):
    lines = re.findall(r"^    (\S.*)$", without_fences(page(name)), re.M)
    if name == "guide/glossary.md" or "!!! " in page(name):
        return
    for line in lines:
        assert line.startswith(("nf2 ", "norbench ", "make ", "torture ", "build/", "pip ")), line


@pytest.mark.parametrize("name", WITH_README)
def test_each_command_exists(name):
    known = applications()
    for line in commands_of(page(name)):
        program, *words = shlex.split(line)
        program = program.removeprefix("build/venv/bin/")
        if program in known:
            parsed(known[program], words, line)
        elif program == "make":
            done = subprocess.run(
                ["make", "-n", *words], cwd=ROOT, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, f"{line}: {done.stderr}"
        else:  # a program of tests/
            (source,) = (ROOT / "tests").rglob(f"{Path(program).name}.c")
            known_options = set(re.findall(r'"(--[\w-]+)', source.read_text()))
            assert {word for word in words if word.startswith("--")} <= known_options, line


def parsed(application, words, line):
    """Is this a command with these options? Its arguments may be left out in running text."""
    if not words:
        return
    name, *rest = words
    assert name in application.commands, line
    command = application.commands[name]
    options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    own = rest[: rest.index("--")] if "--" in rest else rest  # behind it is another program's line
    assert {word.split("=")[0] for word in own if word.startswith("-")} <= options, line
    if not all(word.startswith("-") for word in rest):  # it is shown with its arguments
        try:
            command.make_context(name, list(rest))
        except Exception as error:  # those of click, which typer may bring with it
            assert type(error).__name__ == "MissingParameter", f"{line}: {error}"


@pytest.mark.parametrize("line", ("nf2 nonsense x", "nf2 ls --nonsense", "nf2 tree a b c d"))
def test_a_command_that_is_none_is_found(line):
    with pytest.raises(AssertionError):
        parsed(applications()["nf2"], shlex.split(line)[1:], line)


@pytest.mark.parametrize("name", WITH_README)
def test_each_file_that_a_page_names_is_there(name):
    starts = ("src/", "include/", "examples/", "tests/", "ports/", "tools/", "repair/", "vflash/",
              "python/", "norbench/", "target/", "docs/", "peers/", "cmake/")  # fmt: skip
    for path in re.findall(r"`([\w./*-]+)`", without_fences(page(name))):
        if path.startswith(starts):
            assert glob.glob(str(ROOT / path)), path


# ---- blocks that no other test runs ----


@pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built")
def test_the_commands_of_a_repair(tmp_path):
    """The block of RELIABILITY.md, line by line, on an image that is damaged."""
    lines = re.findall(r"^    nf2 (.*?)\s+#", page("RELIABILITY.md"), re.M)
    assert len(lines) >= 6
    good, image = tmp_path / "good.img", tmp_path / "flash.img"
    nf2fs.format_image(good, "w25q80")
    with nf2fs.open_image(good) as volume:
        for index in range(40):
            volume.write_text(f"/file {index}", "some text that is looked for")
    data = bytearray(good.read_bytes())
    at = data.index(b"some text")
    data[at] ^= 0xFF
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    for line in lines:
        image.write_bytes(data)
        shutil.rmtree(tmp_path / "DIRECTORY", ignore_errors=True)
        (tmp_path / "flash.img.damaged").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "nf2fs.cli", *shlex.split(line)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode in ((3,) if line.startswith(("get", "salvage")) else (1,)), (
            line,
            done,
        )
        assert (tmp_path / "flash.img.damaged").exists() == (line == "check --repair flash.img")
    assert (tmp_path / "new.img").stat().st_size == len(data)


@pytest.mark.skipif(
    not (FREERTOS / "fetched").is_file(), reason="FreeRTOS is not there (make release)"
)
def test_the_block_for_freertos(tmp_path):
    mount, bus = [text for kind, text in FENCE.findall(page("PORTING.md")) if "freertos" in text]
    (tmp_path / "main.c").write_text(
        '#include "nf2_freertos.h"\n#include "spinor.h"\nstatic struct spinor chip;\n'
        "int transfer(void *context, const struct spinor_transfer *t);\n"
        f"int start(void);\nint start(void)\n{{\n{bus}\nnf2_freertos_chip_init(&shared);\n"
        f"if (spinor_start(&chip, &bus) != 0) {{ return 1; }}\n{mount}\nreturn result;\n}}\n"
    )
    port = FREERTOS / "portable" / "ThirdParty" / "GCC" / "Posix"
    include = [ROOT / "include", ROOT / "ports" / "freertos", ROOT / "ports" / "spinor",
               ROOT / "tests" / "ports" / "freertos", FREERTOS / "include", port]  # fmt: skip
    done = subprocess.run(
        ["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
         *[f"-I{one}" for one in include], str(tmp_path / "main.c")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
