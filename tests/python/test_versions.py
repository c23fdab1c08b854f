# SPDX-License-Identifier: BSD-2-Clause
"""One version: NF2_VERSION in include/nf2fs/nf2fs.h. CMake and the package read it from there;
all other files that name it agree with it."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = re.compile(r'^#define NF2_VERSION "(\d+\.\d+\.\d+)"$', re.M)
COPIES = {
    "library.json": r'^  "version": "(.*)",$',
    "ports/esp-idf/nf2fs/idf_component.yml": r'^version: "(.*)"$',
    "rust/Cargo.toml": r'^version = "(.*)"$',
    "python/nf2fs/__init__.py": r'^__version__ = "(.*)"$',
    "CHANGELOG.md": r"^## \[(\d.*)\]",  # the newest one that has a number
}


def text(name):
    return (ROOT / name).read_text()


def version():
    (found,) = HEADER.findall(text("include/nf2fs/nf2fs.h"))
    return found


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_agrees(name):
    assert re.findall(COPIES[name], text(name), re.M)[0] == version()


def test_the_package_reads_the_header():
    project = tomllib.loads(text("pyproject.toml"))
    assert "version" not in project["project"] and "version" in project["project"]["dynamic"]
    read = project["tool"]["scikit-build"]["metadata"]["version"]
    assert re.search(read["regex"], text(read["input"]))["value"] == version()


def test_cmake_reads_the_header():
    assert 'project(nf2fs VERSION "${nf2fs_version}"' in text("CMakeLists.txt")
    cache = ROOT / "build" / "release" / "CMakeCache.txt"
    if cache.is_file():  # configured, and anew whenever the header changes
        said = re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", cache.read_text(), re.M)
        assert said and said[1] == version()
