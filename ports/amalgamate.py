# SPDX-License-Identifier: BSD-2-Clause
"""Writes the library as two files, nf2fs.h and nf2fs.c, to be dropped into a firmware.

    amalgamate.py OUT SOURCE...        for instance: amalgamate.py build/amalgamation src/*.c
    amalgamate.py --build BUILD OUT    the sources of a build that CMake has configured

Public headers go into nf2fs.h, all others into nf2fs.c, each once; nf2fs/*.h lead those who ask for the headers
by their own names, such as ports/spinor, to nf2fs.h. Names that are
a source's own, and that others use too, get its name as an ending; macros of a source end with it.
"""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PUBLIC = "nf2fs/nf2fs.h"
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/|\b[A-Za-z_]\w*\b', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"\n]+)"|<([^>\n]+)>)[^\n]*\n', re.MULTILINE)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


def macros_of(text):
    return re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", without_comments(text), re.MULTILINE)


def file_names(text):
    """Names that a source gives to things of its own, at file scope."""
    code, names = without_comments(text), set()
    for line in re.findall(r"^static\b[^\n;={]*", code, re.MULTILINE):
        function = re.search(r"\(\*(?:const )?(\w+)\)?\s*[\[(]", line) or re.search(r"(\w+)\s*\(", line)
        variables = re.sub(r"\[[^\]]*\]?", "", line)
        name = function[1] if function else (re.findall(r"\w+", variables) or [""])[-1]
        names.add(name)
    for body in re.findall(r"^(?:static\s+(?:const\s+)?)?enum\s*\w*\s*\{([^}]*)\}", code, re.MULTILINE):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", body))
    names |= set(re.findall(r"^[ \t]*(?:static\s+(?:const\s+)?)?(?:struct|union|enum)\s+(\w+)\s*\{", code, re.MULTILINE))
    names |= set(re.findall(r"^typedef\b[^;{]*?\b(\w+)\s*;", code, re.MULTILINE))
    names |= set(re.findall(r"^typedef\b[^;]*?\(\*(\w+)\)", code, re.MULTILINE))
    return names - {"", "const", "struct", "static"}


def bodies_of_structures(text):
    """Where members are declared: (begin, end) of what stands between the braces."""
    for found in re.finditer(r"\b(?:struct|union)\s*\w*\s*\{", text):
        depth, at = 1, found.end()
        while depth > 0 and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield found.end(), at


def renamed(text, names, ending):
    """Members keep their names: where they are declared, and behind '.' or '->'."""
    bodies = list(bodies_of_structures(text))

    def change(found):
        if found[0] not in names:
            return found[0]
        before, after = text[:found.start()].rstrip(), text[found.end():].lstrip()
        member = before.endswith("->") or (before.endswith(".") and not before.endswith("..."))
        declared = any(begin <= found.start() < end for begin, end in bodies) and after[:1] in ";,[:)"
        return found[0] if member or declared else f"{found[0]}_{ending}"
    return TOKEN.sub(change, text)


def ending_for(source, names, used):
    """What is put behind names of a source, so that none of them becomes one that is in use."""
    ending = source.stem
    while any(f"{name}_{ending}" in used for name in names):
        ending += "_c"
    return ending


class Amalgamation:
    def __init__(self, sources, includes):
        self.sources = sources
        self.public = [*includes, ROOT / "include"]
        self.places = [*self.public, *sorted({source.parent for source in sources})]
        self.seen = set()
        self.system = []

    @classmethod
    def of_build(cls, build):
        """Of what CMake wrote down when it configured that build."""
        lists = [[pathlib.Path(line) for line in (build / f"nf2fs-{kind}.txt").read_text().split()]
                 for kind in ("sources", "includes")]
        return cls(*lists)

    def find(self, name, near):
        for place in (*self.public, near, *self.places):
            if (place / name).is_file():
                return (place / name).resolve()
        return None

    def is_public(self, header):
        return any(header.is_relative_to(place) for place in self.public)

    def take(self, path, name, public):
        """The text that stands for one include of `path`."""
        header = self.find(name, path.parent)
        if header is None:
            if name not in self.system:
                self.system.append(name)
            return ""
        if not public and (header in self.seen or self.is_public(header)):
            return ""
        self.seen.add(header)       # public ones have guards, and may stand in both branches of a condition
        return f"/* ---- {header.name} ---- */\n{self.expand(header, public)}\n"

    def expand(self, path, public):
        return INCLUDE.sub(lambda found: self.take(path, found[1] or found[2], public), path.read_text())

    def with_system(self, text):
        """System headers in front of all else, but behind the guard of the public header."""
        includes = "".join(f"#include <{name}>\n" for name in self.system)
        self.system = []
        guard = re.search(r"#ifndef NF2FS_H\n#define NF2FS_H\n", text)
        return text[:guard.end()] + includes + text[guard.end():] if guard else includes + text

    def header(self):
        text = self.expand(self.find(PUBLIC, ROOT / "include"), True)
        return "/* Made by ports/amalgamate.py of the headers in include/. */\n" + self.with_system(text)

    def source(self):
        texts = {source: source.read_text() for source in self.sources}
        users = collections.Counter(name for text in texts.values()
                                    for name in set(re.findall(r"\w+", without_comments(text))))
        headers, bodies = [], []
        for source, text in texts.items():
            headers += [self.take(source, found[1] or found[2], False) for found in INCLUDE.finditer(text)]
            shared = {name for name in file_names(text) if users[name] > 1}
            bodies.append(f"\n/* ======== {source.name} ======== */\n"
                          + renamed(INCLUDE.sub("", text), shared, ending_for(source, shared, users))
                          + "".join(f"#undef {name}\n" for name in macros_of(text)))
        head = '/* Made by ports/amalgamate.py. */\n#include "nf2fs.h"\n'
        return head + self.with_system("".join(headers + bodies))


def write_arduino(out, made):
    """A library for the Arduino IDE: everything in src/. NF2FS.h is its header; a file nf2fs.h beside it would be the same one
    where names are not told apart by case, so the library's own is in src/nf2fs/."""
    place = out / "src"
    (place / "nf2fs").mkdir(parents=True, exist_ok=True)
    header = made.header()
    (place / "nf2fs/nf2fs.h").write_text(header)
    (place / "nf2fs/flash.h").write_text('#include "nf2fs.h"\n')
    (place / "nf2fs.c").write_text(made.source().replace('#include "nf2fs.h"', '#include "nf2fs/nf2fs.h"', 1))
    ports = [*(ROOT / "ports/spinor").glob("*.[ch]"), *(ROOT / "ports/esp-idf/nf2fs").glob("*.[ch]"),
             *(ROOT / "ports/arduino").glob("*.h"), *(ROOT / "ports/arduino").glob("*.cpp")]
    for path in ports:
        (place / path.name).write_text(path.read_text())
    for path in (ROOT / "ports/arduino/examples").rglob("*.ino"):
        example = out / path.relative_to(ROOT / "ports/arduino")
        example.parent.mkdir(parents=True, exist_ok=True)
        example.write_text(path.read_text())
    properties = {
        "name": "NF2FS", "version": re.search(r'#define NF2_VERSION "([^"]+)"', header)[1],
        "author": "The NF2FS authors", "maintainer": "The NF2FS authors",
        "sentence": "A file system for raw serial NOR flash.", "category": "Data Storage",
        "paragraph": "Survives a power cut at any instant. Takes the place of LittleFS on the ESP32 family and the RP2040; with a driver "
                     "for JEDEC chips and a selftest on other boards.",
        "architectures": "*", "includes": "NF2FS.h",
    }
    (out / "library.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=pathlib.Path, action="append", default=[], metavar="DIRECTORY",
                        help="of public headers that take the place of those in include/")
    parser.add_argument("--arduino", action="store_true", help="as a library for the Arduino IDE, with NF2FS.h for sketches, spinor and the selftest")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path, nargs="*")
    parser.add_argument("--build", type=pathlib.Path, help="a build of the library, instead of SOURCE")
    options = parser.parse_args()
    if (options.build is None) == (not options.sources):
        parser.error("give sources, or --build")
    if options.build is not None:
        if not (options.build / "nf2fs-sources.txt").is_file():
            parser.error(f"{options.build} is no configured build of the library: `make lib` makes build/lib")
        made = Amalgamation.of_build(options.build)
    else:
        made = Amalgamation([source.resolve() for source in options.sources],
                            [include.resolve() for include in options.include])
    if options.arduino:
        write_arduino(options.out, made)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "nf2fs.h").write_text(made.header())
    (options.out / "nf2fs.c").write_text(made.source())
    (options.out / "nf2fs").mkdir(exist_ok=True)
    for name in ("nf2fs.h", "flash.h"):
        (options.out / "nf2fs" / name).write_text('#include "../nf2fs.h"\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
