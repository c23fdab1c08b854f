# SPDX-License-Identifier: BSD-2-Clause
"""The ways in which a project takes the library in: each is used here as such a project would use it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "ports"))
import amalgamate  # noqa: E402
import symbols  # noqa: E402

WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
CMAKE = shutil.which("cmake", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
CROSS = subprocess.run([ROOT / "ports/firmware/tools.sh", "--check"], capture_output=True, check=False).returncode == 0
cross = pytest.mark.skipif(not CROSS, reason="a cross compiler or the emulator is not installed "
                                             "(ports/firmware/tools.sh as root installs them)")

# Mounts a volume in RAM and reads back what it wrote.
CONSUMER = """
#include <stdio.h>
#include <string.h>
#include "HEADER"
static uint8_t chip[1u << 20], buffer[NF2_BUFFER_SIZE(256u)], page[256];
static int get(void *c, uint32_t a, void *d, uint32_t n) { (void)c; memcpy(d, chip + a, n); return 0; }
static int put(void *c, uint32_t a, const void *d, uint32_t n)
{ (void)c; for (uint32_t i = 0; i < n; i++) { chip[a + i] &= ((const uint8_t *)d)[i]; } return 0; }
static int erase(void *c, uint32_t a, uint32_t n) { (void)c; memset(chip + a, 0xFF, n); return 0; }
static const struct nf2_flash flash = { .read = get, .program = put, .erase = erase, .chip_size = 1u << 20,
    .block_size = 4096, .page_size = 256, .program_unit = 1, .read_unit = 1, .read_page_us = 4,
    .program_page_us = 400, .erase_block_us = 50000 };
static nf2_t fs;
static nf2_file_t file;
int main(void)
{
    const struct nf2_config config = {.flash = &flash, .buffer = buffer, .buffer_size = sizeof(buffer)};
    char text[6] = "";
    memset(chip, 0xFF, sizeof(chip));
    if (nf2_format(&fs, &config, NF2_FORMAT_QUICK) != 0 || nf2_mount(&fs, &config, NF2_MOUNT_RDWR) != 0
        || nf2_open(&fs, &file, "/a", NF2_O_RDWR | NF2_O_CREAT, page) != 0 || nf2_write(&fs, &file, "hello", 5) != 5
        || nf2_seek(&fs, &file, 0, NF2_SEEK_SET) != 0 || nf2_read(&fs, &file, text, 5) != 5
        || nf2_close(&fs, &file) != 0 || nf2_check(&fs, NULL, NULL) != 0 || nf2_unmount(&fs) != 0) { return 1; }
    printf("%s %s\\n", NF2_VERSION, text);
    return 0;
}
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def version():
    return re.search(r'NF2_VERSION "([^"]+)"', (ROOT / "include/nf2fs/nf2fs.h").read_text())[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The library alone, built and installed."""
    folder = tmp_path_factory.mktemp("built")
    run(CMAKE, "-S", ROOT, "-B", folder / "build", "-DNF2FS_HOST=OFF", "-DCMAKE_BUILD_TYPE=Release")
    run(CMAKE, "--build", folder / "build", "--parallel", "2")
    run(CMAKE, "--install", folder / "build", "--prefix", folder / "installed")
    return folder


@pytest.fixture(scope="module")
def two_files(built, tmp_path_factory):
    out = tmp_path_factory.mktemp("amalgamation")
    run(sys.executable, ROOT / "ports/amalgamate.py", "--build", built / "build", out)
    return out


def test_installed_by_cmake(built, tmp_path):
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", "nf2fs/nf2fs.h"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(consumer C)\n"
        f"find_package(nf2fs {version()} REQUIRED)\nadd_executable(consumer main.c)\n"
        "target_link_libraries(consumer PRIVATE nf2fs::nf2fs)\n")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={built / 'installed'}")
    run(CMAKE, "--build", tmp_path / "build")
    assert run(tmp_path / "build/consumer") == f"{version()} hello\n"


# The driver, on a bus that does not answer.
DRIVER = """
#include <stdio.h>
#include "spinor.h"
#include "selftest.h"
static int transfer(void *c, const struct spinor_transfer *t) { (void)c; (void)t; return -1; }
static void wait(void *c, uint32_t us) { (void)c; (void)us; }
static const struct spinor_bus bus = {.transfer = transfer, .pause = wait};
static struct spinor chip;
int main(void)
{
    const struct nf2_config config = {.flash = &chip.driver};
    printf("%s, %d\\n", spinor_error_text(spinor_start(&chip, &bus)), nf2_selftest(&config, NULL) == NF2_SELFTEST_GEOMETRY);
    return 0;
}
"""
NO_BUS = "the bus transfer failed, 1\n"


@pytest.mark.parametrize("way", ["find_package", "pkg-config", "two files"])
def test_driver_is_there(built, two_files, tmp_path, way):
    (tmp_path / "main.c").write_text(DRIVER)
    if way == "find_package":
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.21)\nproject(consumer C)\nfind_package(nf2fs REQUIRED)\nadd_executable(consumer main.c)\n"
            "target_link_libraries(consumer PRIVATE nf2fs::spinor)\n")
        run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={built / 'installed'}")
        run(CMAKE, "--build", tmp_path / "build")
        assert run(tmp_path / "build/consumer") == NO_BUS
        return
    words = [f"-I{two_files}", f"-I{ROOT / 'ports/spinor'}", *(ROOT / "ports/spinor").glob("*.c"), two_files / "nf2fs.c"]
    if way == "pkg-config":
        if shutil.which("pkg-config") is None:
            pytest.skip("pkg-config is not installed (Debian: pkg-config)")
        place = next((built / "installed").rglob("nf2fs.pc")).parent
        words = run("pkg-config", "--cflags", "--libs", "nf2fs", env={**os.environ, "PKG_CONFIG_PATH": str(place)}).split()
    run("cc", *WARNINGS, tmp_path / "main.c", *words, "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer") == NO_BUS


def test_installation_can_be_moved(built, tmp_path):
    shutil.copytree(built / "installed", tmp_path / "moved")
    text = "".join(path.read_text() for path in (tmp_path / "moved").rglob("*") if path.suffix in (".cmake", ".pc"))
    assert str(built) not in text and str(ROOT) not in text


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="pkg-config is not installed (Debian: pkg-config)")
def test_pkg_config(built, tmp_path):
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", "nf2fs/nf2fs.h"))
    place = next((built / "installed").rglob("nf2fs.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "nf2fs", env={**os.environ, "PKG_CONFIG_PATH": str(place)}).split()
    run("cc", *WARNINGS, tmp_path / "main.c", *flags, "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer") == f"{version()} hello\n"


def test_as_a_part_of_a_project(tmp_path):
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", "nf2fs/nf2fs.h"))
    (tmp_path / "driver.c").write_text(DRIVER)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(consumer C)\n"
        f"add_subdirectory({ROOT} nf2fs)\nadd_executable(consumer main.c)\nadd_executable(driver driver.c)\n"
        "target_link_libraries(consumer PRIVATE nf2fs::nf2fs)\ntarget_link_libraries(driver PRIVATE nf2fs::spinor)\n")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build")
    run(CMAKE, "--build", tmp_path / "build", "--parallel", "2", "--target", "consumer")
    assert run(tmp_path / "build/consumer") == f"{version()} hello\n"
    assert not list((tmp_path / "build").rglob("libnf2fs_spinor*")), "the driver is built where it is linked alone"
    run(CMAKE, "--build", tmp_path / "build", "--parallel", "2")
    assert run(tmp_path / "build/driver") == NO_BUS


def test_two_files(two_files, tmp_path):
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", "nf2fs.h"))
    run("cc", *WARNINGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{two_files}",
        two_files / "nf2fs.c", tmp_path / "main.c", "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer") == f"{version()} hello\n"


def test_renaming():
    """Names that two sources use for things of their own are kept apart, members and strings stay."""
    text = 'static int count(void)\n{\n    return at->count + a.count + f("count", count); /* count */\n}\n'
    assert amalgamate.file_names(text) == {"count"}
    assert amalgamate.renamed(text, {"count"}, "x") == (
        'static int count_x(void)\n{\n    return at->count + a.count + f("count", count_x); /* count */\n}\n')
    text = "struct s {\n    int count;\n    int size[count];\n};\n"
    assert amalgamate.renamed(text, {"count"}, "x") == "struct s {\n    int count;\n    int size[count_x];\n};\n"


def test_renaming_makes_no_name_that_is_there(tmp_path):
    """`put` of data.c would become `put_data`, which is a name of save.c."""
    for name, more in (("data", ""), ("save", "int put_data(void);\nint put_data(void)\n{\n    return put();\n}\n")):
        (tmp_path / f"{name}.c").write_text(f"static int put(void)\n{{\n    return 0;\n}}\n{more}int {name}(void);\n"
                                            f"int {name}(void)\n{{\n    return put();\n}}\n")
    made = amalgamate.Amalgamation(sorted(tmp_path.glob("*.c")), []).source().replace('#include "nf2fs.h"', "")
    (tmp_path / "both.c").write_text(made)
    run("cc", *WARNINGS, "-c", tmp_path / "both.c", "-o", tmp_path / "both.o")


@cross
def test_bare_metal(two_files, tmp_path):
    """Code for Cortex-M0+, with unaligned accesses trapping; one that is made on purpose does trap."""
    compiler = ["arm-none-eabi-gcc", *WARNINGS, "-Os", "-mcpu=cortex-m0plus", "-mthumb", f"-I{two_files}", f"-I{ROOT / 'ports/spinor'}"]
    example = ROOT / "examples/baremetal"
    run(*compiler, "-c", example / "main.c", ROOT / "ports/spinor/selftest.c", two_files / "nf2fs.c", cwd=tmp_path)
    line = "a line that survives a power cut\n"
    for flags, expected in (([], (0, "the driver does what it should\n" + 3 * line + "no error\n")), (["-DMISALIGN"], (3, "fault\n"))):
        run(*compiler, *flags, example / "start.c", *tmp_path.glob("*.o"), "-nostartfiles", "-Wl,--gc-sections",
            "-T", example / "link.ld", "-o", tmp_path / "elf")
        done = subprocess.run(["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none",
                               "-semihosting-config", "enable=on,target=native", "-kernel", tmp_path / "elf"],
                              capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stdout + done.stderr) == expected


def blocks_of_the_page(kind):
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / "docs/PORTING.md").read_text(), re.DOTALL)


@pytest.fixture
def project(tmp_path):
    """The project of docs/PORTING.md, with the sources in a folder of it; `cmake` is this one."""
    (block,) = blocks_of_the_page("cmake")
    (tmp_path / "CMakeLists.txt").write_text(block)
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", "nf2fs/nf2fs.h"))
    (tmp_path / "nf2fs").symlink_to(ROOT)
    path = f"{pathlib.Path(CMAKE).parent}:{os.environ['PATH']}"
    return {"cwd": tmp_path, "env": {**os.environ, "PATH": path}}


def test_fetch_content(project):
    run(CMAKE, "-S", ".", "-B", "build", **project)
    run(CMAKE, "--build", "build", **project)
    assert run("build/app", **project) == f"{version()} hello\n"


@cross
def test_cross_build(project):
    (block,) = [one for one in blocks_of_the_page("sh") if "TOOLCHAIN" in one]
    run("sh", "-e", "-c", block, **project)
    (library,) = project["cwd"].rglob("libnf2fs.a")
    assert "Tag_CPU_arch: v7E-M" in run("arm-none-eabi-readelf", "-A", library)


@cross
def test_bare_metal_by_hand(two_files, tmp_path):
    """The commands of docs/PORTING.md, behind `make amalgamation`."""
    (block,) = [one for one in blocks_of_the_page("sh") if "amalgamation" in one]
    first, commands = block.split("\n", 1)
    assert first == "make amalgamation"
    for folder in ("examples", "ports"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/amalgamation").symlink_to(two_files)
    done = run("sh", "-e", "-c", f"{{ {commands}}} 2>&1", cwd=tmp_path, timeout=120)     # the board's console is stderr
    assert done.endswith("no error\n")


@cross
def test_symbols(built):
    """Compiles for three targets without a warning, and needs from outside what docs/PORTING.md says."""
    page = (ROOT / "docs/PORTING.md").read_text()
    stated = page[page.index(symbols.MARKS[0]) + len(symbols.MARKS[0]):page.index(symbols.MARKS[1])]
    assert stated == symbols.markdown(symbols.table(built / "build")), "run `make symbols`"


# What docs/PORTING.md asks for with newlib, and nothing else.
NEWLIB = """
#include <stddef.h>
#include <stdio.h>
#include "nf2_posix.h"
void nf2_newlib_put(const char *data, int length);
void *_sbrk(ptrdiff_t more);
_Noreturn void _exit(int code);
int _kill(int process, int signal);
int _getpid(void);
static nf2_t fs;
void nf2_newlib_put(const char *data, int length) { (void)data; (void)length; }
void *_sbrk(ptrdiff_t more) { (void)more; return (void *)-1; }
_Noreturn void _exit(int code) { (void)code; for (;;) { } }
int _kill(int process, int signal) { (void)process; return signal; }
int _getpid(void) { return 1; }
int main(void)
{
    FILE *file = nf2p_attach(&fs, NULL, NULL, NULL) == 0 ? fopen("/a", "w") : NULL;
    fprintf(file, "%d\\n", 1);
    return fclose(file) + rename("/a", "/b") + remove("/b");
}
"""


@cross
def test_newlib(two_files, tmp_path):
    """fopen, fprintf and the rest link with what the page names."""
    page = (ROOT / "docs/PORTING.md").read_text()
    assert all(f"`{name}`" in page for name in ("nf2_newlib_put", "_sbrk", "_exit", "_kill", "_getpid"))
    (tmp_path / "main.c").write_text(NEWLIB)
    run("arm-none-eabi-gcc", *WARNINGS, "-mcpu=cortex-m4", "-mthumb", f"-I{two_files}", f"-I{ROOT / 'ports/freertos'}",
        tmp_path / "main.c", ROOT / "ports/freertos/nf2_posix.c", ROOT / "ports/freertos/nf2_newlib.c", two_files / "nf2fs.c",
        "-o", tmp_path / "elf")


def listed(built, kind):
    return {pathlib.Path(line) for line in (built / f"build/nf2fs-{kind}.txt").read_text().split()}


def test_platformio(built, tmp_path):
    """What library.json says compiles and links, for a board that is neither an ESP32 nor an RP2040. (test_platformio.py runs
    PlatformIO itself; test_arduino.py compiles the same files for those two.)"""
    manifest = json.loads((ROOT / "library.json").read_text())
    build = manifest["build"]
    assert manifest["version"] == version()
    sources = {path for rule in build["srcFilter"] if rule.startswith("+") for path in ROOT.glob(rule[2:-1])}
    places = {ROOT / build["includeDir"], *(ROOT / word.removeprefix("-I ") for word in build["flags"])}
    ports = {ROOT / "ports" / name for name in ("spinor", "esp-idf/nf2fs", "arduino")}
    assert {path for path in sources if path.parent not in ports} == listed(built, "sources"), "another folder than that of cmake/Nf2Core.cmake"
    assert places - ports == listed(built, "includes")
    assert all(any(path.parent == place for path in sources) for place in ports)
    exported = [ROOT / name for name in manifest["export"]["include"]]
    assert all(name.exists() for name in exported) and all(source.parent in exported for source in sources)
    assert all(any((place / name).is_file() for place in places) for name in manifest["headers"])
    for example in manifest["examples"]:
        base = ROOT / example["base"]
        assert any(base.is_relative_to(place) for place in exported)
        needed = {name for file in example["files"] for name in re.findall(r'#include [<"](.*)[>"]', (base / file).read_text())}
        assert any((place / name).is_file() for name in needed for place in places)
        ours = {name for name in needed if '"' + name + '"' in "".join((base / file).read_text() for file in example["files"])}
        assert all(any((place / name).is_file() for place in (base, *places)) for name in ours)
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", manifest["headers"][0]))
    run("cc", *WARNINGS, *[f"-I{place}" for place in sorted(places)], tmp_path / "main.c",
        *(path for path in sources if path.suffix == ".c"), "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer") == f"{version()} hello\n"
    for path in sources:
        if path.suffix == ".cpp" and shutil.which("c++"):
            run("c++", "-Wall", "-Werror", *[f"-I{place}" for place in sorted(places)], "-c", path, "-o", tmp_path / "object.o")


# The frameworks' own CMake functions, as far as the files here call them, by their documentation.
IDF = """
function(idf_component_register)
  cmake_parse_arguments(of "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${ARGN})
  add_library(glue STATIC ${of_SRCS})
  target_compile_definitions(glue PRIVATE ESP_PLATFORM)
  target_include_directories(glue PUBLIC ${of_INCLUDE_DIRS})
endfunction()
"""
ZEPHYR = """
set(CONFIG_FILE_SYSTEM_NF2FS y)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  add_library(glue ALIAS ${name})
endfunction()
function(zephyr_library_sources)
  target_sources(nf2fs PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
  target_include_directories(nf2fs PUBLIC ${ARGN})
endfunction()
"""


@pytest.fixture(scope="module")
def component(tmp_path_factory):
    """The component for ESP-IDF that has the core inside."""
    folder = tmp_path_factory.mktemp("component") / "nf2fs"
    run(sys.executable, ROOT / "ports/esp-idf/make_component.py", "--url", "https://example.org/nf2fs", folder)
    return folder


def built_glue(functions, glue, test, folder):
    """The test of the glue, compiled with what the glue's CMakeLists.txt builds, with a framework's functions of our own."""
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(framework C)\nset(CMAKE_C_STANDARD 11)\n"
        f"include_directories({ROOT}/tests/ports/stubs {ROOT}/tests/harness {ROOT}/vflash)\n{functions}"
        f"add_subdirectory({glue} glue)\nfile(GLOB chip {ROOT}/vflash/*.c)\n"
        f"add_executable(test {ROOT}/tests/ports/{test}.c ${{chip}})\ntarget_link_libraries(test PRIVATE glue m)\n")
    run(CMAKE, "-S", folder, "-B", folder / "build")
    run(CMAKE, "--build", folder / "build", "--parallel", "2")
    return folder / "build/test"


@pytest.mark.parametrize(("functions", "glue", "test"),
                         [(IDF, "ports/esp-idf/nf2fs", "test_esp"),
                          (ZEPHYR, "ports/zephyr", "test_zephyr")], ids=["esp", "zephyr"])
def test_glue_is_built(functions, glue, test, tmp_path):
    run(built_glue(functions, ROOT / glue, test, tmp_path))


@pytest.fixture(scope="module")
def component_test(component, tmp_path_factory):
    return built_glue(IDF, component, "test_esp", tmp_path_factory.mktemp("component_test"))


def test_component(built, component, component_test):
    """It passes the test, and needs nothing outside of its folder."""
    kinds = {source.name for source in listed(built, "sources")}
    assert kinds and kinds == {path.name for path in (component / "src").glob("*.c")}
    text = (component / "CMakeLists.txt").read_text() + (component / "idf_component.yml").read_text()
    assert str(ROOT) not in text and ".." not in text and "url: https://example.org/nf2fs\n" in text
    assert f'version: "{version()}"\n' in text
    for name in ("LICENSE", "README.md", "Kconfig", "project_include.cmake", "examples/counter/main/main.c"):
        assert (component / name).is_file()
    assert (component / "project_include.cmake").read_text() == (ROOT / "ports/esp-idf/nf2fs/project_include.cmake").read_text()
    run(component_test)
    again = subprocess.run([sys.executable, ROOT / "ports/esp-idf/make_component.py", component], capture_output=True, text=True,
                           check=False)
    assert again.returncode == 1 and "is there and not empty" in again.stderr and "Traceback" not in again.stderr


# ESP-IDF's functions for partitions, over a table of one line; what would be flashed goes into a file.
PARTITIONS = """
function(partition_table_get_partition_info out options kind)
  set(${out} "" PARENT_SCOPE)
  if(options STREQUAL "--partition-name files" AND kind STREQUAL "size")
    set(${out} 0x100000 PARENT_SCOPE)
  elseif(options STREQUAL "--partition-name files" AND kind STREQUAL "offset")
    set(${out} OFFSET PARENT_SCOPE)
  endif()
endfunction()
function(fail_at_build_time name)
  add_custom_target(${name} ALL COMMAND ${CMAKE_COMMAND} -E echo "${ARGN}" COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endfunction()
function(idf_component_get_property out component name)
  set(${out} "${component} ${name}" PARENT_SCOPE)
endfunction()
function(esptool_py_flash_target name main sub)
  add_custom_target(${name})
endfunction()
function(esptool_py_flash_to_partition target partition image)
  file(APPEND ${CMAKE_BINARY_DIR}/flashed "${target} ${partition} ${image}\n")
endfunction()
"""


@pytest.mark.parametrize("newer", [False, True], ids=["5", "6.1"])
def test_partition_image(component, component_test, tmp_path, newer):
    """nf2_create_partition_image: the component mounts the image, as one that may be written; it is made anew when a file changes."""
    nf2 = shutil.which("nf2", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    if nf2 is None:
        pytest.skip("the command nf2 is not installed")
    newest = """
function(esp_partition_register_target partition image)
  file(APPEND ${CMAKE_BINARY_DIR}/flashed "registered ${partition} ${image} ${ARGN}\n")
endfunction()
"""
    (tmp_path / "web/web").mkdir(parents=True)
    (tmp_path / "web/web/page").write_text("hello\n")
    table = PARTITIONS.replace("OFFSET", "0x110000")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(images LANGUAGES NONE)\nadd_custom_target(flash)\n"
        f"{table}{newest if newer else ''}include({component}/project_include.cmake)\n"
        "nf2_create_partition_image(files web FLASH_IN_PROJECT)\n")
    build = tmp_path / "build"
    run(CMAKE, "-S", tmp_path, "-B", build, f"-DNF2_COMMAND={nf2}")
    run(CMAKE, "--build", build)
    image = build / "files.bin"
    flashed = (build / "flashed").read_text()
    if newer:
        assert flashed == f"registered files {image} DEPENDS;nf2_files_bin;FLASH_IN_PROJECT\n"
    else:
        assert flashed == f"files-flash files {image}\nflash files {image}\n"
    assert run(component_test, image) == "1 passed, 0 failed\n"
    before = image.read_bytes()
    (tmp_path / "web/web/page").write_text("other\n")
    run(CMAKE, "--build", build)
    assert image.read_bytes() != before
    (tmp_path / "web/large").write_bytes(bytes(2 << 20))
    assert subprocess.run([CMAKE, "--build", build], capture_output=True, check=False).returncode != 0

    (tmp_path / "CMakeLists.txt").write_text((tmp_path / "CMakeLists.txt").read_text().replace("image(files", "image(none"))
    run(CMAKE, "-S", tmp_path, "-B", build)
    failed = subprocess.run([CMAKE, "--build", build], capture_output=True, text=True, check=False)
    assert failed.returncode != 0 and 'There is no partition "none"' in failed.stdout + failed.stderr


@pytest.mark.parametrize("place", ["tree", "component"])
def test_esp_idf_asks_for_needs(place, component, tmp_path):
    """ESP-IDF runs a component's CMakeLists.txt as a script first, where some commands of CMake are not allowed."""
    folder = component if place == "component" else ROOT / "ports/esp-idf/nf2fs"
    (tmp_path / "needs.cmake").write_text(
        "macro(idf_component_register)\n  cmake_parse_arguments(of \"\" \"\" \"SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES\" ${ARGN})\n"
        "  message(STATUS \"needs ${of_REQUIRES} ${of_PRIV_REQUIRES}\")\nendmacro()\n"
        f"include({folder}/CMakeLists.txt)\n")
    assert run(CMAKE, "-P", tmp_path / "needs.cmake") == "-- needs esp_partition;freertos vfs;log\n"


def test_esp_idf_finds_one_component():
    """A folder in EXTRA_COMPONENT_DIRS: each folder in it that has a CMakeLists.txt is taken for a component."""
    assert [path.parent.name for path in (ROOT / "ports/esp-idf").glob("*/CMakeLists.txt")] == ["nf2fs"]


def test_esp_kconfig(tmp_path, monkeypatch):
    kconfiglib = pytest.importorskip("kconfiglib", reason="kconfiglib is not installed")
    (tmp_path / "Kconfig").write_text(f"source \"{ROOT}/ports/esp-idf/nf2fs/Kconfig\"\n")
    monkeypatch.setenv("KCONFIG_WARN_UNDEF", "y")
    found = kconfiglib.Kconfig(str(tmp_path / "Kconfig"))
    used = {name for path in (ROOT / "ports/esp-idf/nf2fs").glob("*.[ch]") for name in re.findall(r"CONFIG_(NF2FS_\w+)", path.read_text())}
    assert used == {name for name in found.syms if name.startswith("NF2FS_")} and found.warnings == []
    assert {name: found.syms[name].str_value for name in used} == {"NF2FS_MAX_PARTITIONS": "3", "NF2FS_MAX_FILES": "8"}


def test_kconfig(tmp_path, monkeypatch):
    """By the parser that Zephyr uses. Modules come before Zephyr's own subsystems, so that the longer names win."""
    kconfiglib = pytest.importorskip("kconfiglib", reason="kconfiglib is not installed")
    needs = ["FILE_SYSTEM", "FLASH_MAP", "FLASH_PAGE_LAYOUT"]
    (tmp_path / "Kconfig").write_text(
        f"source \"{ROOT}/ports/zephyr/Kconfig\"\n\nconfig FAT_FILESYSTEM_ELM\n\tbool \"fat\"\n\n"
        + "".join(f"config {name}\n\tbool \"{name}\"\n\tdefault y\n\n" for name in needs)
        + "config FILE_SYSTEM_MAX_FILE_NAME\n\tint \"length\"\n\tdefault -1\n")
    monkeypatch.setenv("KCONFIG_WARN_UNDEF", "y")
    found = kconfiglib.Kconfig(str(tmp_path / "Kconfig"))
    assert found.syms["NF2FS_FILES"].str_value == "" and found.syms["FILE_SYSTEM_MAX_FILE_NAME"].str_value == "-1"
    found.syms["FILE_SYSTEM_NF2FS"].set_value("y")
    used = {name for path in (ROOT / "ports/zephyr").glob("*.c") for name in re.findall(r"CONFIG_(NF2FS_\w+)", path.read_text())}
    assert used == {name for name in found.syms if name.startswith("NF2FS_")} and found.warnings == []
    assert {name: found.syms[name].str_value for name in used} == {
        "NF2FS_FILES": "4", "NF2FS_DIRS": "2", "NF2FS_LARGE_ERASE_SIZE": "0"}
    assert found.syms["FILE_SYSTEM_MAX_FILE_NAME"].str_value == "255"
    found.syms["FAT_FILESYSTEM_ELM"].set_value("y")
    assert found.syms["FILE_SYSTEM_MAX_FILE_NAME"].str_value == "-1", "FAT without long names allows no more than 12"
    for name in needs:
        found.syms[name].set_value("n")
        assert found.syms["FILE_SYSTEM_NF2FS"].str_value == "n", f"it needs {name}"
        found.syms[name].set_value("y")


def test_zephyr_binding():
    """The devicetree properties that the glue asks for are those of its binding and of Zephyr's own for every file system."""
    binding = (ROOT / "ports/zephyr/dts/bindings/fs/zephyr,fstab,nf2fs.yaml").read_text()
    glue = (ROOT / "ports/zephyr/nf2_zephyr.c").read_text()
    compatible = re.search(r'^compatible: "(.*)"$', binding, re.M).group(1)
    assert re.sub(r"\W", "_", compatible) == re.search(r"^#define DT_DRV_COMPAT (\w+)$", glue, re.M).group(1)
    own = {name.replace("-", "_") for name in re.findall(r"^  ([\w-]+):$", binding, re.M)}
    asked = set(re.findall(r"DT_INST_(?:PROP|PROP_OR|PHANDLE)\(inst, (\w+)", glue))
    assert own and asked == own | {"mount_point", "partition"} and 'include: "zephyr,fstab-common.yaml"' in binding
    module = (ROOT / "zephyr/module.yml").read_text()
    for key, name in [("cmake", "CMakeLists.txt"), ("kconfig", ""), ("dts_root", "dts/bindings")]:
        place = re.search(rf"^ +{key}: (.*)$", module, re.M).group(1)
        assert (ROOT / place / name if name else ROOT / place).exists()


def test_what_was_not_configured_is_told(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "ports/amalgamate.py", "--build", tmp_path / "lib", tmp_path / "out"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"{tmp_path / 'lib'} is no configured build of the library: `make lib` makes build/lib\n" in done.stderr
    assert not (tmp_path / "out").exists()


def test_arduino(built, tmp_path):
    """The library for the Arduino IDE, as it compiles one: every file of src/, with src/ alone on the path."""
    out = tmp_path / "NF2FS"
    run(sys.executable, ROOT / "ports/amalgamate.py", "--arduino", "--build", built / "build", out)
    assert f"version={version()}\n" in (out / "library.properties").read_text()
    (tmp_path / "main.c").write_text(CONSUMER.replace("HEADER", "nf2fs/nf2fs.h"))
    run("cc", *WARNINGS, f"-I{out / 'src'}", tmp_path / "main.c", *(out / "src").glob("*.c"), "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer") == f"{version()} hello\n"


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed (Debian: g++)")
def test_headers_in_cpp(two_files, tmp_path):
    (tmp_path / "main.cpp").write_text(
        '#include "spinor.h"\n#include "selftest.h"\n#include "nf2_posix.h"\nint main() { return nf2p_errno(0); }\n')
    run("c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}",
        f"-I{ROOT / 'ports/spinor'}", f"-I{ROOT / 'ports/freertos'}", tmp_path / "main.cpp")


# What docs/PORTING.md leaves to the board: here the command-level chip.
BOARD = """
#include <stdio.h>
#include "spi_chip.h"
static struct spi_chip *sim;
static void cs_low(void) { spi_chip_select(sim, true); }
static void cs_high(void) { spi_chip_select(sim, false); }
static void spi_write(const uint8_t *data, uint32_t n) { while (n-- > 0) { (void)spi_chip_exchange(sim, *data++, 1); } }
static void spi_read(uint8_t *data, uint32_t n) { while (n-- > 0) { *data++ = spi_chip_exchange(sim, 0, 1); } }
static void delay_us(uint32_t us) { spi_chip_wait(sim, (uint64_t)us * 1000u); }
static void delay_ms(uint32_t ms) { delay_us(ms * 1000u); }
"""


def test_the_page(built, tmp_path):
    """The C of docs/PORTING.md, in its order, is a program that works."""
    blocks = re.findall(r"```c\n(.*?)```", (ROOT / "docs/PORTING.md").read_text(), re.DOTALL)
    driver, selftest, volume, *_ = blocks
    functions, start = driver.split("int result = ")
    include, selftest = selftest.split("\n\n", 1)
    memory, work = volume.split("config.flash", 1)
    work = "config.flash" + work.replace("int result = ", "result = ")
    (tmp_path / "main.c").write_text(
        f"{BOARD}{functions}{include}\n{memory}\nint main(void)\n{{\nsim = spi_chip_new(&spi_chip_w25q256);\n"
        f"int result = {start}\nif (result != 0) {{ return 1; }}\n{work}"
        "if (result != NF2_OK || nf2_check(&fs, NULL, NULL) != 0 || nf2_unmount(&fs) != NF2_OK) { return 2; }\n"
        f"{selftest}return report.fault;\n}}\n")
    run("cc", *WARNINGS, f"-I{built / 'installed/include'}", f"-I{ROOT / 'ports/spinor'}", f"-I{ROOT / 'vflash'}",
        tmp_path / "main.c", *(ROOT / "ports/spinor").glob("*.c"), *(ROOT / "vflash").glob("spi_*.c"),
        next((built / "installed").rglob("libnf2fs.a")), "-o", tmp_path / "board")
    assert run(tmp_path / "board") == ""
