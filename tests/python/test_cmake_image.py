# SPDX-License-Identifier: BSD-2-Clause
"""`nf2_add_image()`: the example project is built, changed and built again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nf2fs
from nf2fs import native

ROOT = Path(__file__).resolve().parents[2]
BESIDE = Path(sys.executable).parent / "cmake"
CMAKE = str(BESIDE) if BESIDE.exists() else shutil.which("cmake")
GENERATORS = [("Unix Makefiles", "make"), ("Ninja", "ninja")]

pytestmark = [
    pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built"),
    pytest.mark.skipif(CMAKE is None, reason="CMake is missing"),
]


def run(*command, check=True):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def command(tmp_path):
    """The command nf2 of this source tree."""
    path = tmp_path / "nf2"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nf2fs.cli "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path):
    return Path(shutil.copytree(ROOT / "examples" / "image", tmp_path / "project"))


def configure(project, build, command, *more):
    run(
        CMAKE,
        "-S",
        project,
        "-B",
        build,
        f"-DNF2FS_DIR={ROOT}",
        f"-DNF2_COMMAND={command}",
        "-DCMAKE_BUILD_TYPE=Debug",
        *more,
    )


def listing(image):
    with nf2fs.open_image(image, read_only=True) as volume:
        return {os.path.join(place, name) for place, _, names in volume.walk("/") for name in names}


def test_the_example(project, tmp_path, command):
    """What the build makes is what the program reads, also from a partition; what changes is made
    anew, and nothing else.
    """
    build = tmp_path / "build"
    configure(project, build, command)
    run(CMAKE, "--build", build, "--parallel", "2")
    firmware, flash, parts = build / "firmware", build / "flash.img", build / "partitions.img"
    assert run(firmware, flash).stdout == (project / "files/etc/settings").read_text()
    assert run(firmware, parts, "/etc/version", "65536").stdout == "firmware 1.2.3\n"
    assert parts.read_bytes().startswith((project / "boot.bin").read_bytes())
    assert run(firmware, flash, "/none", check=False).returncode == 1

    made = flash.stat().st_mtime_ns, parts.stat().st_mtime_ns
    run(CMAKE, "--build", build)
    assert (flash.stat().st_mtime_ns, parts.stat().st_mtime_ns) == made

    (project / "boot.bin").write_bytes(b"another boot loader")
    run(CMAKE, "--build", build)
    assert flash.stat().st_mtime_ns == made[0]
    assert parts.read_bytes().startswith(b"another boot loader")


@pytest.mark.parametrize("generator, tool", GENERATORS)
def test_each_change_makes_the_image_anew(project, tmp_path, command, generator, tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is missing")
    build, image = tmp_path / "build", tmp_path / "build" / "flash.img"
    configure(project, build, command, "-G", generator)

    def built():
        run(CMAKE, "--build", build, "--target", "flash")
        return listing(image)

    assert built() == {"/etc/settings", "/www/index.html"}
    (project / "files/etc/settings").write_text("other\n")
    built()
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.read_bytes("/etc/settings") == b"other\n"
    (project / "files/www/deep").mkdir()
    (project / "files/www/deep/new file").write_text("new")
    assert built() == {"/etc/settings", "/www/index.html", "/www/deep/new file"}
    (project / "files/www/deep/new file").unlink()
    assert built() == {"/etc/settings", "/www/index.html"}


def test_what_does_not_fit_fails_the_build(project, tmp_path, command):
    configure(project, tmp_path / "build", command)
    (project / "files/large").write_bytes(bytes(1 << 20))
    done = run(CMAKE, "--build", tmp_path / "build", "--target", "flash", check=False)
    assert done.returncode != 0 and "no space" in done.stdout + done.stderr
    assert not (tmp_path / "build" / "flash.img").exists()


@pytest.mark.parametrize(
    "call, word",
    [
        ("nf2_add_image(x)", "one of DIRECTORY and MANIFEST"),
        ("nf2_add_image(x DIRECTORY a MANIFEST b)", "one of DIRECTORY and MANIFEST"),
        ("nf2_add_image(x DIRECTORY a CHIPS b)", "unknown"),
        ("nf2_add_image(x DIRECTORY a)", "(`pip install .` or `make tools` in the sources"),
    ],
)
def test_wrong_calls_are_refused(tmp_path, call, word):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(x NONE)\n"
        f"include({ROOT}/cmake/Nf2Image.cmake)\n{call}\n"
    )
    done = subprocess.run(
        [CMAKE, "-S", tmp_path, "-B", tmp_path / "build"],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert done.returncode != 0 and word in " ".join(done.stderr.split())


def test_an_installed_package_has_it(project, tmp_path, command):
    """As find_package(nf2fs) finds it."""
    run(CMAKE, "-S", ROOT, "-B", tmp_path / "library", "-DNF2FS_HOST=OFF")
    run(CMAKE, "--build", tmp_path / "library", "--parallel", "2")
    run(CMAKE, "--install", tmp_path / "library", "--prefix", tmp_path / "installed")
    page = project / "CMakeLists.txt"
    page.write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(installed C)\nfind_package(nf2fs REQUIRED)\n"
        "nf2_add_image(flash DIRECTORY files)\n"
    )
    build = tmp_path / "build"
    configure(project, build, command, f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    run(CMAKE, "--build", build)
    assert listing(build / "flash.img") == {"/etc/settings", "/www/index.html"}
