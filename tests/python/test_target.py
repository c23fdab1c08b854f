# SPDX-License-Identifier: BSD-2-Clause
"""Measuring on a Cortex-M4: instructions are counted exactly, bytes and stack are those of the
program, and the core compiles elsewhere."""

import fnmatch
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import target_build  # noqa: E402
import target_profile  # noqa: E402
import target_run  # noqa: E402
import target_size  # noqa: E402

GCC = "arm-none-eabi-gcc"
needs_gcc = pytest.mark.skipif(
    not shutil.which(GCC), reason=f"no {GCC} (Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi)"
)
needs_qemu = pytest.mark.skipif(
    not shutil.which("qemu-system-arm"), reason="no qemu-system-arm (Debian: qemu-system-arm)"
)


def core():
    folders = [ROOT / name for name in ("include", "src")]
    return target_build.nf2fs(sorted((ROOT / "src").glob("*.c")), folders)


# ---- instructions ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return target_build.Build(tmp_path_factory.mktemp("target"), 2)


@pytest.fixture(scope="module")
def program(build):
    return target_run.build_program(build, core(), 2048)


@needs_gcc
@needs_qemu
def test_a_loop_of_known_length_counts_exactly(build, program):
    said, rows, _ = target_run.run_suite(build, program, "loop")
    assert said == {"volume": "nf2fs", "ram": 2048}
    assert [row["row"] for row in rows] == ["known_loop"]
    assert rows[0]["instructions"] == rows[0]["calls"] == [2 * 1_000_000 + 1]
    assert rows[0]["callees"] == ["known_loop"]
    assert rows[0]["stack"] == rows[0]["reads"] == 0


@needs_gcc
@needs_qemu
def test_two_runs_and_a_profile_agree(build, program):
    first, second = (target_run.run_suite(build, program, "directory") for _ in range(2))
    assert first == second
    said, rows, profile = target_run.run_suite(build, program, "directory", "stat_in_1000")
    assert (said, rows) == first[:2]
    costs = next(row["instructions"] for row in rows if row["row"] == "stat_in_1000")
    assert len(costs) == 100
    names = [one.symbol for one in program.functions]
    for letter, total, calls in (("S", sum(costs), 100), ("W", max(costs), 1)):
        functions = target_profile.functions_of(profile, letter, names)
        assert sum(one["self"] for one in functions) == total
        stat = next(one for one in functions if one["name"] == "nf2_stat")
        assert (stat["all"], stat["calls"]) == (total, calls)
        called = [
            edge
            for edge in target_profile.edges_of(profile, letter, names)
            if edge["from"] == "nf2_stat"
        ]
        assert stat["self"] + sum(edge["all"] for edge in called) == total
    assert sum(target_profile.line_counts(profile, program.elf).values()) == sum(costs)


@needs_gcc
@needs_qemu
def test_a_failed_check_of_a_row_is_an_error(build, program):
    with pytest.raises(target_build.Failure, match="no such suite"):
        target_run.run_suite(build, program, "nonsense")


def test_each_row_of_the_settings_is_in_its_suite():
    text = (ROOT / "target" / "rows.c").read_text()
    settings = tomllib.loads((ROOT / "target" / "rows.toml").read_text())["rows"]
    for name, row in settings.items():
        assert f'"{name}"' in text, name
        assert f"suite_{row['suite']}(void)" in text, name


# ---- bytes and stack ---------------------------------------------------------------------------

HEADER = """
#include <stdint.h>
struct nf2_flash { int (*read)(void *context); void *context; };
typedef struct { uint32_t a[5]; } nf2_t;
int nf2_first(struct nf2_flash *flash);
int nf2_second(int depth);
int nf2_third(int x);
int nf2_fourth(int x);
int nf2_fifth(int x);
/* int nf2_in_a_comment(void); */
uint64_t nf2_divide(uint64_t a, uint64_t b);
"""
SOURCE = """
#include "nf2fs/nf2fs.h"
static volatile char sink;
#define TAKE(bytes) volatile char room[bytes]; room[0] = room[(bytes) - 1] = sink
__attribute__((noipa)) static int visit(int x) { TAKE(200); return x + room[0]; }
__attribute__((noipa)) static int unrelated(int x) { TAKE(3000); return x + room[0]; }
__attribute__((noipa)) static int each(int (*call)(int), int x)
{
    TAKE(16);
    return call(x) + call(x + 1) + room[0];
}
__attribute__((noipa)) static int other(int (*take)(int), int x) { return take(x) + take(x + 2); }
int nf2_first(struct nf2_flash *flash)
{
    TAKE(100);
    return each(visit, flash->read(flash->context)) + room[0];
}
int nf2_second(int depth)
{
    TAKE(40);
    return (depth ? nf2_second(depth - 1) + room[0] : 0) + other(unrelated, depth);
}
struct table { int (*deep)(int); int (*flat)(int); };
__attribute__((noipa)) static int deep(int x) { TAKE(5000); return x + room[0]; }
__attribute__((noipa)) static int flat(int x) { TAKE(64); return x + room[0]; }
static const struct table table = { .deep = deep, .flat = flat };
static const struct table *volatile tables = &table;
int nf2_third(int x) { return x < 0 ? tables->flat(x) + 1 : x; }
__attribute__((noipa)) static int last(int x) { TAKE(500); return x + room[0]; }
__attribute__((noipa)) static int jumps(int x) { TAKE(300); return last(x + room[0]); }
__attribute__((noipa)) static int both(int x) { TAKE(200); return x ? last(x) + room[0] : last(1); }
int nf2_fourth(int x) { TAKE(100); return jumps(x) + room[0]; }
int nf2_fifth(int x) { TAKE(100); return both(x) + room[0]; }
uint64_t nf2_divide(uint64_t a, uint64_t b) { return a / b; }
"""
SETTINGS = {
    "programs": {
        "one": {"title": "one call", "nf2fs": {"calls": ["nf2_first"], "flags": []}},
        "all": {"title": "all calls", "without": []},
        "some": {"title": "all but some", "without": ["second"]},
    },
    "groups": {"second": ["nf2_sec*"]},
    "mechanisms": {"nf2fs": {"visits": ["own:visit"], "rest": ["own"]}},
    "ram": {"nf2fs": {"volume": ["nf2_t", "char[7]"]}},
}


@pytest.fixture(scope="module")
def sizes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "nf2fs").mkdir()
    (folder / "nf2fs" / "nf2fs.h").write_text(HEADER)
    (folder / "own.c").write_text(SOURCE)
    return target_size.measure(
        build, target_build.nf2fs([folder / "own.c"], [folder]), SETTINGS
    )


@needs_gcc
def test_bytes_are_those_of_what_is_called(sizes):
    one, everything, some = (sizes["programs"][name] for name in ("one", "all", "some"))
    assert set(one["functions"]) == {"own:visit", "own:each", "own:nf2_first"}
    first, second, *rest = everything["calls"]
    assert (first, second) == ("nf2_first", "nf2_second")
    assert rest == ["nf2_third", "nf2_fourth", "nf2_fifth", "nf2_divide"]
    assert some["calls"] == [first, *rest]
    assert set(everything["functions"]) - set(some["functions"]) == {
        "own:nf2_second",
        "own:other",
        "own:unrelated",
    }
    assert one["mechanisms"] == {
        "visits": one["functions"]["own:visit"],
        "rest": one["own"] - one["functions"]["own:visit"],
    }
    assert one["code"] == one["own"] == sum(one["files"].values()) and one["variables"] == 1
    assert one["libgcc"] == {} and one["division_64"] == []


@needs_gcc
def test_division_of_64_bits_is_named_and_counted(sizes):
    found = sizes["programs"]["some"]
    assert found["division_64"] == ["_aeabi_uldivmod", "_udivmoddi4"]
    assert found["code"] == found["own"] + sum(found["libgcc"].values()) > found["own"]


@needs_gcc
def test_static_ram_is_what_the_compiler_says(sizes):
    assert sizes["ram"] == {"volume": {"bytes": 27, "parts": {"nf2_t": 20, "char[7]": 7}}}


@needs_gcc
def test_stack_follows_pointers_and_circles_but_not_the_driver(sizes):
    stack = sizes["programs"]["all"]["stack"]
    deep = {call["call"]: call for call in stack["calls"]}
    names = [frame.split()[0] for frame in deep["nf2_first"]["path"]]
    assert names == ["nf2_first", "each", "visit"]  # `unrelated` is given to `other` alone
    assert deep["nf2_first"]["bytes"] == sum(
        int(frame.split()[1]) for frame in deep["nf2_first"]["path"]
    )
    assert 316 <= deep["nf2_first"]["bytes"] <= 420
    assert [frame.split()[0] for frame in deep["nf2_second"]["path"]] == [
        "nf2_second",
        "other",
        "unrelated",
    ]
    names = [frame.split()[0] for frame in deep["nf2_third"]["path"]]
    assert names == ["nf2_third", "flat"]  # called by its name in the table
    assert stack["circles"] == ["nf2_second"]
    assert stack["calls"][0]["call"] == "nf2_second"
    assert stack["without_information"] == ["__aeabi_uldivmod"]


@needs_gcc
def test_stack_of_what_is_jumped_to_lies_where_the_frame_was(sizes):
    deep = {call["call"]: call for call in sizes["programs"]["all"]["stack"]["calls"]}
    names = [frame.split()[0] for frame in deep["nf2_fourth"]["path"]]
    frames = [int(frame.split()[1]) for frame in deep["nf2_fourth"]["path"]]
    assert names == ["nf2_fourth", "jumps", "last"]
    assert frames[1] == 0 and 600 <= deep["nf2_fourth"]["bytes"] == sum(frames) <= 700
    # one that calls it, too, still has its frame then
    assert 800 <= deep["nf2_fifth"]["bytes"] <= 920


def test_a_core_without_sources_is_refused_clearly(tmp_path):
    with pytest.raises(target_build.Failure, match="no sources"):
        target_build.nf2fs([], [tmp_path])
    with pytest.raises(target_build.Failure, match="no such source"):
        target_build.nf2fs([tmp_path / "a.c"], [tmp_path])
    (tmp_path / "a.c").touch()
    with pytest.raises(target_build.Failure, match="no nf2fs/nf2fs.h"):
        target_build.nf2fs([tmp_path / "a.c"], [tmp_path])


def test_what_is_missing_is_named_or_installed(monkeypatch):
    monkeypatch.setattr(target_build.shutil, "which", lambda name: None)
    monkeypatch.setattr(target_build.os, "geteuid", lambda: 1000)
    with pytest.raises(target_build.Failure, match="install gcc-arm-none-eabi libnewlib"):
        target_build.require(GCC, "qemu-system-arm")
    asked = []
    present = {"apt-get"}

    def install(*words, **_):
        asked.extend(words)
        present.update({GCC, "qemu-system-arm"})

    monkeypatch.setattr(target_build.shutil, "which", lambda name: name if name in present else None)
    monkeypatch.setattr(target_build.os, "geteuid", lambda: 0)
    monkeypatch.setattr(target_build, "run", install)
    target_build.require(GCC, "qemu-system-arm")
    assert asked[0] == "apt-get"
    assert asked[-3:] == ["gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "qemu-system-arm"]


# ---- other processors --------------------------------------------------------------------------

PROCESSORS = {
    "cortex-m0plus": [GCC, "-mcpu=cortex-m0plus", "-mthumb"],
    "rv32imac": ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"],
}
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-align=strict", "-Werror"]
# A compiler without a C library has no headers of it.
LIBC = {
    "string.h": "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\nvoid "
    "*memmove(void *, const void *, size_t);\n"
    "void *memset(void *, int, size_t);\nint memcmp(const void *, const void *, size_t);\nsize_t "
    "strlen(const char *);\n",
    "assert.h": "#undef assert\n#ifdef NDEBUG\n#define assert(x) ((void)0)\n#else\nvoid "
    "failed(void);\n"
    "#define assert(x) ((x) ? (void)0 : failed())\n#endif\n",
}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_core_compiles_without_warnings(processor, tmp_path):
    compiler, *flags = PROCESSORS[processor]
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} (Debian: gcc-{compiler.removesuffix('-gcc')})")
    for header, text in LIBC.items():
        (tmp_path / header).write_text(text)
    system = core()
    done = subprocess.run(
        [
            compiler,
            *flags,
            "-std=c11",
            "-Os",
            "-ffreestanding",
            "-DNDEBUG",
            *WARNINGS,
            *system.include_flags(),
            "-idirafter",
            tmp_path,
            "-c",
            *system.sources,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.o"))) == len(system.sources)


def test_each_source_of_the_core_is_of_a_mechanism_that_says_what_it_buys():
    settings = tomllib.loads((ROOT / "target" / "size.toml").read_text(encoding="utf-8"))
    mechanisms = settings["mechanisms"]["nf2fs"]
    patterns = [pattern for group in mechanisms.values() for pattern in group]
    sources = [path.stem for path in sorted((ROOT / "src").glob("*.c"))]
    assert [name for name in sources if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)] == []
    assert set(mechanisms) == set(settings["buys"])
