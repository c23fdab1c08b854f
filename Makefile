# SPDX-License-Identifier: BSD-2-Clause
# NF2FS. `make help` lists the targets. All that is made or fetched lies under build/.
# Needed: make, a C compiler, Python 3.11 with venv, and for the first run a Python package index.

BUILD ?= build
PYTHON ?= python3
JOBS ?= 2

MAKEFLAGS += --no-print-directory
override BUILD := $(abspath $(BUILD))
VENV := $(BUILD)/venv
BIN := $(VENV)/bin
CMAKE := $(BIN)/cmake
RELEASE := $(BUILD)/release
ASAN := $(BUILD)/asan

# A peer that could not be fetched is left out of the build: the benchmark then runs without it.
PEER_OPTIONS = $(foreach peer,LITTLEFS.littlefs FATFS.fatfs YAFFS2.yaffs2,$(if $(wildcard $(BUILD)/$(subst .,,$(suffix $(peer)))/fetched),\
	-DNF2FS_$(basename $(peer))_DIR=$(BUILD)/$(subst .,,$(suffix $(peer)))))

# What the Python tools load, run and measure, wherever BUILD is.
export NF2FS_LIBRARY := $(RELEASE)/python/libnf2host.so
export NORBENCH_CELL := $(RELEASE)/norbench/norbench-cell
export NF2FS_LITTLEFS := $(BUILD)/littlefs

.PHONY: help rust rust-figures lint lib tools wheel test-pythons release extras man site asan peers test test-asan test-release bounds fuzz fuzz-record coverage coverage-record torture torture-record torture-peers torture-proof demo figures long-rows peer-rows studies size target-cost target-profile validation product report clean

help:
	@echo "make tools    the host tools alone, without the benchmark and its peers: $(BIN)/nf2"
	@echo "make demo     a volume on a virtual chip: filled, checked byte by byte, measured; each step says how long it takes"
	@echo "make lib      the library alone: $(BUILD)/lib/libnf2fs.a"
	@echo "make release  library, virtual chip, benchmark and the host tools $(BIN)/nf2 and $(BIN)/norbench"
	@echo "make wheel    a wheel of the Python package for all versions of Python, on Linux with its manylinux tag: $(BUILD)/dist"
	@echo "make test-pythons  installs it under each of PYTHONS=\"$(PYTHONS)\" and runs its tests there"
	@echo "make rust     the crate of rust/: its tests, clippy, documentation, package, and a build for thumbv7em-none-eabihf where there are its tools"
	@echo "make rust-figures  the tables of docs/guide/rust.md, measured anew"
	@echo "make extras   what \`nf2 mount', \`nf2 import', \`--compress' and the documentation site need beyond that"
	@echo "make man      manual pages of the commands: $(BUILD)/man"
	@echo "make site     the documentation as a site: $(BUILD)/site"
	@echo "make test     all tests: C tests with sanitizers, benchmark against its reference, Python tests; with COMPLETE=1 it fails"
	@echo "              if any is left out"
	@echo "make bounds   each call of every workload beside its bound, on more chips and in more states than \`make test': docs/BOUNDS.md (ten minutes)"
	@echo "make torture  power cuts for SECONDS=600 (at most CUTS, where given) in JOBS=2 processes, from SEED=1: report.txt, report.json and the calls"
	@echo "              of each failure in $(BUILD)/torture; TORTURE=... gives further options (see tests/torture/torture.c)"
	@echo "make torture-record  puts the record of the last \`make torture' into docs/PROOF.md"
	@echo "make torture-peers  the same cuts over NF2FS and its peers, PEER_CUTS=300 a script, file system and chip; into docs/PROOF.md"
	@echo "make torture-proof  the same must find each of the faults of src/broken.h (PROOF_SECONDS=60 each, at most)"
	@echo "make amalgamation  the library as two files, nf2fs.h and nf2fs.c, in $(BUILD)/amalgamation"
	@echo "make symbols  what the library needs from outside, into docs/PORTING.md"
	@echo "make firmware  the program of ports/firmware for that test, compiled only: $(BUILD)/firmware/firmware.elf"
	@echo "make firmware-test  the library on an emulated Cortex-M4 with FreeRTOS, with KILLS=300 power losses from SEED=1 (ten minutes)"
	@echo "make figures  measure every gate: docs/FIGURES.md and the table in README.md; the rows that take long are those of"
	@echo "make long-rows  which measures them anew, for $(LONG) (an hour or two; lifespans are the longest)"
	@echo "make peer-rows  the same rows of LittleFS, for $(PEER_ROWS): only where a workload or LittleFS changed"
	@echo "make validation  what papers print beside what is measured here: docs/VALIDATION.md (half an hour)"
	@echo "make product  DAYS=7 of a product that logs, keeps settings and takes updates: percentiles of each call, into docs/PRODUCT.md"
	@echo "make report   every file system over REPORT_WORKLOADS as one page with plots: $(BUILD)/report.html"
	@echo "make studies  docs/STUDIES.md and its plots, of the rows of both files"
	@echo "make fuzz     coverage-guided lists of calls and hostile images for FUZZ_SECONDS in all (needs clang with libFuzzer); adds to the"
	@echo "              record, which \`make fuzz-record' puts into docs/PROOF.md; FUZZ_OPTIONS gives further options (see tools/fuzz.py)"
	@echo "make coverage lines and branches of the core that the C tests reach; \`make coverage-record' puts them into docs/PROOF.md"
	@echo "make size     bytes of code, static RAM and stack on a Cortex-M4, of each file and mechanism, beside LittleFS;"
	@echo "              SIZE_OPTIONS=\"--functions 30\" prints the largest functions, too (see tools/target_size.py)"
	@echo "make target-cost  instructions of calls on an emulated Cortex-M4, beside LittleFS and the gates: docs/TARGET.md;"
	@echo "              COST_OPTIONS=\"--fs nf2fs --ram 2048 --suite files\" measures a part (see tools/target_cost.py)"
	@echo "make processor  what \`norbench run --processor' needs to count a cell's instructions (an ARM compiler, and qemu-arm)"
	@echo "make target-profile ROW=update1k  instructions of each function in a row of target/rows.toml on an emulated Cortex-M4;"
	@echo "              PROFILE_OPTIONS=\"--function NAME | --lines 20 | --top 40 | --fs littlefs | --ram 4096\" (see tools/target_profile.py)"
	@echo "make lint     ruff over the Python code, clang-tidy over src/; says which of them is missing (RUFF, CLANG_TIDY name them)"
	@echo "make clean    remove $(BUILD)"
	@echo "Run as root on Debian, test, symbols, firmware, firmware-test, size, target-cost, target-profile and processor install the compilers and"
	@echo "emulators that they need with apt-get; else they say what is missing."
	@echo "Variables: BUILD (directory), PYTHON (3.11 or later), JOBS, CC, CLANG, FUZZ_SECONDS"

# What a record was made with: the version, and the state of the sources.
VERSION = echo "$$(sed -n 's/.*NF2_VERSION "\(.*\)"/\1/p' include/nf2fs/nf2fs.h), sources $$(git describe --always 2>/dev/null || echo unknown)$$(git diff --quiet HEAD -- . ':!docs' 2>/dev/null; test $$? -ne 1 || echo -dirty)"

# ---- what is needed ----

# A step with a line of its own; what it prints is in $(BUILD)/logs.
STEP = "$(PYTHON)" tools/step.py --log "$(BUILD)/logs"

.PHONY: python
python:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "make: $(PYTHON) was not found: install Python 3.11 or later (Debian: python3 python3-venv), or name it in PYTHON" >&2; exit 1; }

$(VENV)/ready: tools/venv.sh tools/requirements.txt | python
	@PYTHON="$(PYTHON)" $(STEP) "Python environment with CMake and what the tools need" -- tools/venv.sh "$(VENV)"

$(VENV)/ready-test: $(VENV)/ready tools/requirements-test.txt
	@$(STEP) "What the tests and the plots need" -- tools/venv.sh "$(VENV)" tools/requirements-test.txt
	@touch "$@"

# The sources of a peer: a step of its own, and no failure where it cannot be fetched.
fetch_peer = PYTHON="$(BIN)/python" $(STEP) "Sources of $(2)" -- peers/$(1)/fetch.sh "$(BUILD)/$(1)" || \
	echo "make: $(2) could not be fetched: the benchmark is built without it" >&2

# Codecs of compressed files: an example and tests link them.
CODECS_OPTION = $(if $(wildcard $(BUILD)/codecs/fetched),-DNF2FS_CODECS_DIR=$(BUILD)/codecs)
.PHONY: codecs
codecs: $(VENV)/ready
	@PYTHON="$(BIN)/python" $(STEP) "Sources of LZ4 and heatshrink" -- examples/compressed/fetch.sh "$(BUILD)/codecs" || \
	echo "make: LZ4 and heatshrink could not be fetched: their tests are left out" >&2

.PHONY: littlefs fatfs yaffs2
littlefs: $(VENV)/ready
	@$(call fetch_peer,littlefs,LittleFS)

fatfs: $(VENV)/ready
	@$(call fetch_peer,fatfs,FatFs)

yaffs2: $(VENV)/ready
	@$(call fetch_peer,yaffs2,YAFFS2)

peers: littlefs fatfs yaffs2

# For `nf2 mount', `nf2 import' and the documentation site; what cannot be installed is left out, and tried again the next time.
extras: $(VENV)/extras

$(VENV)/extras: tools/extras.sh tools/requirements-extras.txt $(VENV)/ready
	@$(STEP) "What some host tools and the site need" -- tools/extras.sh "$(VENV)"
	@if [ -e "$(VENV)/left-out" ]; then cat "$(VENV)/left-out" >&2; fi

# Without FreeRTOS the tests that need it are left out.
FREERTOS_OPTION = $(if $(wildcard $(BUILD)/freertos/fetched),-DNF2FS_FREERTOS_DIR=$(BUILD)/freertos)
.PHONY: freertos
freertos:
	@ports/freertos/fetch.sh "$(BUILD)/freertos" || echo "make: FreeRTOS could not be fetched: its tests are left out" >&2

# ---- builds ----

CONFIGURE_RELEASE = $(CMAKE) -S . -B "$(RELEASE)" -DCMAKE_BUILD_TYPE=Release -DPython3_EXECUTABLE="$(BIN)/python" $(PEER_OPTIONS) $(FREERTOS_OPTION) $(CODECS_OPTION)

tools: $(VENV)/ready
	@$(STEP) "Configuration" -- $(CONFIGURE_RELEASE)
	@$(STEP) "Compilation of the host tools" -- $(CMAKE) --build "$(RELEASE)" --parallel $(JOBS) --target nf2host
	@echo "The tools are ready: $(BIN)/nf2 --help"

wheel: $(VENV)/ready
	@$(STEP) "Wheel of the Python package" -- tools/wheel.sh "$(VENV)" "$(BUILD)/dist"
	@ls "$(BUILD)/dist"/*.whl

# The installed wheel, under each Python that there is.
PYTHONS ?= python3.11 python3.12 python3.13
test-pythons: wheel
	@for python in $(PYTHONS); do tools/test_wheel.sh $$python "$(BUILD)/pythons/$$(basename $$python)" "$(BUILD)/dist" || exit 1; done

man: $(VENV)/ready
	@$(BIN)/python -m nf2fs.manpages "$(BUILD)/man"
	@echo "The manual pages are in $(BUILD)/man"

# The pages of docs/, as mkdocs.yml orders them; tests/python/test_site.py runs what they show.
site: $(VENV)/extras
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --site-dir "$(BUILD)/site"
	@echo "The site is in $(BUILD)/site: open index.html; to search in it too, run $(BIN)/python -m http.server --directory $(BUILD)/site"

lib: $(VENV)/ready
	$(CMAKE) -S . -B "$(BUILD)/lib" -DCMAKE_BUILD_TYPE=Release -DNF2FS_HOST=OFF
	$(CMAKE) --build "$(BUILD)/lib" --parallel $(JOBS)

# The crate: its package, with the sources of the core inside, is in $(BUILD)/crate.
rust:
	@rust/check.sh "$(BUILD)"

# The tables of the guide: the same work over other crates, and what tasks of an async program wait.
rust-figures:
	CARGO_TARGET_DIR="$(BUILD)/rust" cargo run --release --manifest-path rust/bench/Cargo.toml -- --write docs/guide/rust.md
	CARGO_TARGET_DIR="$(BUILD)/rust" cargo run --release --manifest-path rust/embassy/Cargo.toml --features measure -- --write docs/guide/rust.md

release: peers freertos codecs
	$(CONFIGURE_RELEASE)
	$(CMAKE) --build "$(RELEASE)" --parallel $(JOBS)

asan: $(VENV)/ready freertos
	$(CMAKE) -S . -B "$(ASAN)" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNF2FS_SANITIZE=ON $(FREERTOS_OPTION)
	$(CMAKE) --build "$(ASAN)" --parallel $(JOBS)

# ---- tests ----

# All parts run, whatever the first one finds; at the end the names of the tests that failed are shown.
# COMPLETE=1: what is left out is a failure, too.
RUN_TESTS = $(BIN)/python tools/run_tests.py --build "$(BUILD)" --jobs $(JOBS) $(if $(COMPLETE),--complete)
test: test-needs
	@$(MAKE) $(VENV)/ready-test $(VENV)/extras
	@$(RUN_TESTS)

# Before the Python environment: pyfuse3 is compiled.
.PHONY: test-needs
test-needs: | python
	@$(STEP) "What the tests need of this machine" -- tools/test_needs.sh || echo "make: some tests will be left out" >&2

test-asan: $(VENV)/ready
	@$(RUN_TESTS) asan

# What ships: the C tests that did not run with sanitizers, or run longer here, and the host tools.
test-release: $(VENV)/ready-test $(VENV)/extras
	@$(RUN_TESTS) release python

# Each call beside its bound: the long version of tests/python/test_call_bounds.py, and the page.
bounds: release
	$(BIN)/norbench bounds

# The corpus grows from run to run; what ends the process is kept beside it. Each run adds to the record.
CLANG ?= $(or $(shell for c in clang clang-19 clang-16 clang-15 clang-14; do command -v $$c && break; done),clang)
FUZZ_SECONDS ?= 600
FUZZ := $(BUILD)/fuzz
fuzz:
	@command -v "$(CLANG)" >/dev/null || { echo "make fuzz: no clang was found (Debian: clang, libclang-rt-dev); name it in CLANG" >&2; exit 1; }
	mkdir -p "$(FUZZ)"
	@$(VERSION) > "$(FUZZ)/version.txt"
	$(PYTHON) tools/fuzz.py --clang "$(CLANG)" --out "$(FUZZ)" --seconds $(FUZZ_SECONDS) --jobs $(JOBS) \
		--version "$$(cat "$(FUZZ)/version.txt")" $(FUZZ_OPTIONS)

fuzz-record:
	$(PYTHON) tools/proof_page.py fuzz "$(FUZZ)/record.json" --version "@$(FUZZ)/version.txt"

# With little optimization, so that lines are what they seem.
COVERAGE := $(BUILD)/coverage
coverage: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "gcovr==8.8"
	$(CMAKE) -S . -B "$(COVERAGE)" -DCMAKE_BUILD_TYPE=Debug -DNF2FS_PYTHON=OFF -DCMAKE_C_FLAGS="--coverage -O1" -DCMAKE_EXE_LINKER_FLAGS=--coverage
	$(CMAKE) --build "$(COVERAGE)" --parallel $(JOBS)
	find "$(COVERAGE)" -name '*.gcda' -delete
	cd "$(COVERAGE)" && $(BIN)/ctest --output-on-failure --parallel $(JOBS) --exclude-regex '^norbench_.*$$'
	"$(COVERAGE)/tests/test_faults" --links 10 --places 0
	@$(VERSION) > "$(COVERAGE)/version.txt"
	$(BIN)/python -m gcovr --root . --filter src/ --exclude-throw-branches --merge-mode-functions separate --gcov-ignore-errors=no_working_dir_found \
		--gcov-suspicious-hits-threshold=0 --json "$(COVERAGE)/coverage.json" \
		--txt "$(COVERAGE)/lines.txt" --txt-metric line --json-summary "$(COVERAGE)/summary.json" --html-details "$(COVERAGE)/core.html" "$(COVERAGE)" --print-summary

coverage-record:
	$(PYTHON) tools/proof_page.py coverage "$(COVERAGE)/coverage.json" --version "@$(COVERAGE)/version.txt"

SECONDS ?= 600
SEED ?= 1
TORTURE ?=
CUTS ?= 0
PROOF_SECONDS ?= 60

torture: release
	rm -rf "$(BUILD)/torture"
	mkdir -p "$(BUILD)/torture"
	@$(VERSION) > "$(BUILD)/torture/version.txt"
	"$(RELEASE)/tests/torture" --seconds $(SECONDS) --jobs $(JOBS) --seed $(SEED) --enough $(CUTS) --out "$(BUILD)/torture" $(TORTURE)

torture-record:
	$(PYTHON) tools/proof_page.py torture "$(BUILD)/torture/report.json" --version "@$(BUILD)/torture/version.txt"

PEER_CUTS ?= 300
torture-peers: release
	mkdir -p "$(BUILD)/peers"
	@$(VERSION) > "$(BUILD)/peers/version.txt"
	"$(RELEASE)/tests/peer_cuts" --jobs $(JOBS) --seed $(SEED) --cuts $(PEER_CUTS) --out "$(BUILD)/peers"
	$(PYTHON) tools/proof_page.py peers "$(BUILD)/peers/peers.json" --version "@$(BUILD)/peers/version.txt"

# Each fault of src/broken.h in turn must be found.
torture-proof: release
	$(BIN)/python tools/torture_proof.py --build "$(BUILD)" --cmake "$(CMAKE)" --jobs $(JOBS) --seed $(SEED) \
		--seconds $(PROOF_SECONDS) --torture "$(TORTURE)"

# ---- the instrument ----

# Days of a product, in virtual time: a week takes some minutes.
DAYS ?= 7
product: release
	$(BIN)/python tools/product_page.py --program "$(RELEASE)/tests/product/product" --days $(DAYS) --jobs $(JOBS) \
		--rows "$(BUILD)/product.jsonl" --page docs/PRODUCT.md

# What papers print, and what was measured elsewhere, beside what is measured here.
validation: release $(VENV)/ready-test
	$(BIN)/norbench validate --rows "$(BUILD)/validation.jsonl" --jobs $(JOBS)

# One page with plots, build/report.html, and the same rows as docs/BENCHMARKS.md.
REPORT_WORKLOADS ?= core,sensing,reads,mixedshort,mountfill50,mountfillu50
# Of these the instructions are counted too, which takes a hundred times as long.
REPORT_COUNTED ?= mountclean,create32,read32,delete32,config,swrite,rread,log32d
REPORT_CUTS ?= 30
report: release $(VENV)/ready-test
	@$(MAKE) processor || echo "make: rows without instructions: each says why" >&2
	$(BIN)/norbench sweep --out "$(BUILD)/report.jsonl" --workload $(REPORT_WORKLOADS) --jobs $(JOBS)
	$(BIN)/norbench sweep --out "$(BUILD)/report.jsonl" --workload $(REPORT_COUNTED) --jobs $(JOBS) --processor
	rm -f "$(BUILD)/cuts.jsonl"
	$(BIN)/norbench cuts --out "$(BUILD)/cuts.jsonl" --cuts $(REPORT_CUTS) --slice --jobs $(JOBS) > /dev/null
	$(BIN)/norbench report "$(BUILD)/report.jsonl" "$(BUILD)/cuts.jsonl" --html "$(BUILD)/report.html" --flame littlefs:swrite,nf2fs:config
	{ printf '# Benchmarks\n\nMade by `make report`; do not edit. How cells run, and what the columns mean: norbench/README.md.\n\n'; \
	  $(BIN)/norbench report "$(BUILD)/report.jsonl" "$(BUILD)/cuts.jsonl" --markdown; } > docs/BENCHMARKS.md

# An emulated Cortex-M4 with a W25Q256 behind its flash controller: see ports/firmware/main.c.
FIRMWARE := $(BUILD)/firmware
KILLS ?= 300
.PHONY: firmware firmware-test
firmware: $(VENV)/ready freertos
	@ports/firmware/tools.sh
	$(CMAKE) -S ports/firmware -B "$(FIRMWARE)" -DCMAKE_BUILD_TYPE=MinSizeRel -DNF2FS_FREERTOS_DIR="$(BUILD)/freertos" \
		-DCMAKE_TOOLCHAIN_FILE="$(CURDIR)/ports/firmware/arm-none-eabi.cmake"
	$(CMAKE) --build "$(FIRMWARE)" --parallel $(JOBS)

firmware-test: firmware release
	$(BIN)/python ports/firmware/firmware_test.py --firmware "$(FIRMWARE)/firmware.elf" --judge "$(RELEASE)/ports/firmware_judge" \
		--nf2 "$(BIN)/nf2" --folder "$(FIRMWARE)/run" --kills $(KILLS) --seed $(SEED)
	$(BIN)/python ports/firmware/firmware_tasks.py --build "$(FIRMWARE)" --faults

# The library as two files, and what it needs from outside.
.PHONY: amalgamation symbols
amalgamation: lib
	$(PYTHON) ports/amalgamate.py --build "$(BUILD)/lib" "$(BUILD)/amalgamation"

symbols: lib
	@ports/firmware/tools.sh
	$(PYTHON) ports/symbols.py "$(BUILD)/lib" --write docs/PORTING.md

# ---- what it shows ----

# Nothing but what it runs is compiled.
demo: littlefs
	@$(STEP) "Configuration" -- $(CONFIGURE_RELEASE)
	@$(STEP) "Compilation" -- $(CMAKE) --build "$(RELEASE)" --parallel $(JOBS) --target nf2host norbench-cell
	@$(BIN)/python -m nf2fs.demo --directory "$(BUILD)/demo"

# The rows that take long are measured apart, and kept.
LONG := docs/long-rows.jsonl
PEER_ROWS := docs/peer-rows.jsonl
# Wear needs a mean above 200 to show, and a life takes as many erases as a chip bears: on chips small enough for minutes.
STUDIES = $(BIN)/norbench
define measure_studies
	rm -f "$(2)"
	$(STUDIES) space --fs $(1) --jobs $(JOBS) --json "$(2)"
	$(STUDIES) directory --fs $(1) --jobs $(JOBS) --json "$(2)"
	$(STUDIES) latency --fs $(1) --jobs $(JOBS) --json "$(2)" $(3)
	$(STUDIES) overwrite --all --fs $(1) --jobs $(JOBS) --json "$(2)" $(3)
	for chip in w25q128/32M w25q128/128M; do $(STUDIES) overwrite --workload ow4k-50 --chip $$chip --fs $(1) --json "$(2)" $(3) || exit 1; done
	$(STUDIES) lifespan --workload lifelog,lifesmall --chip w25q256/4M --mean 300 --fs $(1) --json "$(2)" $(3)
	$(STUDIES) lifespan --workload lifelog,lifesmall --chip w25q80 --limit 2000 --fs $(1) --json "$(2)" $(3)
endef

long-rows: release
	$(call measure_studies,nf2fs,$(LONG))
	$(STUDIES) figures --long --gate lifelogd,lifesmall,lifesmalls,lifesmall-ecc16,lifelog-wear,lifelogd-wear,lifesmall-wear,lifesmalls-wear,owread-random,owread-sequential,"phase*","firstwrite*","wake*","age*","wear*" --jobs $(JOBS) \
		--json "$(LONG)" --output - > /dev/null

# LittleFS has rows that fail: an overwrite finds no space where the file does not fit on the chip twice.
peer-rows: release
	$(call measure_studies,littlefs,$(PEER_ROWS),|| true)
	for workload in create create32 swrite rwrite20 log32d health1 ota2m config bbburn mountclean; do \
		$(STUDIES) best littlefs --workload $$workload --json "$(PEER_ROWS)" --jobs $(JOBS) --timeout 600 || true; done

studies: release $(VENV)/ready-test
	$(BIN)/norbench studies $(wildcard $(LONG) $(PEER_ROWS))

figures: release
	rm -f "$(BUILD)/figures.jsonl"
	$(BIN)/norbench figures --json "$(BUILD)/figures.jsonl" --jobs $(JOBS) $(addprefix --with ,$(wildcard $(LONG) $(PEER_ROWS)))

# ---- on a Cortex-M4 ----

# The core that is measured: its sources, and where its headers lie.
CORE_SOURCES = $(wildcard src/*.c)
CORE_INCLUDES = include src
TARGET := $(BUILD)/target
TARGET_INPUT = --out "$(TARGET)" --sources $(CORE_SOURCES) --include $(CORE_INCLUDES) --littlefs "$(BUILD)/littlefs" --jobs $(JOBS)

$(BUILD)/littlefs/fetched: peers/littlefs/fetch.sh
	PYTHON="$(PYTHON)" peers/littlefs/fetch.sh "$(BUILD)/littlefs"

size: $(BUILD)/littlefs/fetched
	@$(PYTHON) tools/target_size.py $(TARGET_INPUT) $(SIZE_OPTIONS)

target-cost: $(BUILD)/littlefs/fetched
	@$(PYTHON) tools/target_cost.py $(TARGET_INPUT) --page docs/TARGET.md $(COST_OPTIONS)

# norbench-cell for an emulated Cortex-M4, beside the one for this computer: `norbench run --processor' needs it.
.PHONY: processor
processor: release
	@$(PYTHON) tools/target_cell.py $(TARGET_INPUT) --fatfs "$(BUILD)/fatfs" --yaffs2 "$(BUILD)/yaffs2" --beside "$(RELEASE)/norbench"

# No part of `make test'.
lint:
	@tools/lint.sh "$(CORE_SOURCES)" "$(CORE_INCLUDES)"

ROW ?= update1k
target-profile: $(BUILD)/littlefs/fetched
	@$(PYTHON) tools/target_profile.py $(TARGET_INPUT) --row $(ROW) $(PROFILE_OPTIONS)

clean:
	rm -rf "$(BUILD)"
