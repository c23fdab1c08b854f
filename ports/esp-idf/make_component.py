#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a component for ESP-IDF that has the core's sources inside, as a component registry takes it.

    python3 ports/esp-idf/make_component.py --url https://example.org/nf2fs build/component/nf2fs

The folder can be copied into a project's `components`, or be packed by `compote component pack`.
"""

import argparse
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

CMAKELISTS = """\
# SPDX-License-Identifier: BSD-2-Clause
# Made by ports/esp-idf/make_component.py of NF2FS.
if(CMAKE_SCRIPT_MODE_FILE) # ESP-IDF asks for a component's needs in a script, before the project
  file(GLOB sources "${CMAKE_CURRENT_LIST_DIR}/src/*.c")
else()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/src/*.c")
endif()
idf_component_register(SRCS ${sources} GLUE
                       INCLUDE_DIRS "." "include"
                       REQUIRES esp_partition freertos
                       PRIV_REQUIRES vfs log)
"""


def pieces():
    """What goes into the component: (place in it, source)."""
    for source in sorted((ROOT / "src").glob("*.[ch]")):
        yield f"src/{source.name}", source
    for source in sorted((ROOT / "include/nf2fs").glob("*.h")):
        yield f"include/nf2fs/{source.name}", source
    for source in sorted((HERE / "nf2fs").glob("*.[ch]")):
        yield source.name, source
    for name in ("nf2_posix.c", "nf2_posix.h"):
        yield name, ROOT / "ports/freertos" / name
    for name in ("selftest.c", "selftest.h"):
        yield name, ROOT / "ports/spinor" / name
    for name in ("Kconfig", "project_include.cmake"):
        yield name, HERE / "nf2fs" / name
    yield "cmake/Nf2Image.cmake", ROOT / "cmake/Nf2Image.cmake"
    yield "README.md", HERE / "README.md"
    yield "LICENSE", ROOT / "LICENSE"
    for source in sorted((HERE / "nf2fs/examples").rglob("*")):
        built = {"build", "sdkconfig"} & set(source.relative_to(HERE).parts)
        if source.is_file() and not built:
            yield str(source.relative_to(HERE / "nf2fs")), source


def make(out, url):
    manifest = (HERE / "nf2fs/idf_component.yml").read_text()
    if url:
        manifest = manifest.replace("license:", f"url: {url}\nlicense:", 1)
    glue = []
    for place, source in pieces():
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / place)
        if "/" not in place and place.endswith(".c"):
            glue.append(f'"{place}"')
    (out / "CMakeLists.txt").write_text(CMAKELISTS.replace("GLUE", " ".join(glue)))
    (out / "idf_component.yml").write_text(manifest)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--url", help="of the project's page: a registry asks for it")
    parser.add_argument("out", type=pathlib.Path, help="the folder to make; its name is the component's name")
    options = parser.parse_args()
    if options.out.exists() and any(options.out.iterdir()):
        sys.exit(f"make_component.py: {options.out} is there and not empty")
    make(options.out, options.url)


if __name__ == "__main__":
    main()
