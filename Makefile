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

.PHONY: help rust rust-figures lint lib tools wheel wheels test-pythons release extras man site asan peers test test-asan test-release bounds fuzz fuzz-record coverage coverage-record torture torture-record torture-peers torture-proof demo figures long-rows peer-rows studies size target-cost target-profile validation product report clean

#: more: this list
help:
	@awk -f tools/make_help.awk $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "All that is made lies under BUILD=$(BUILD). Other variables: PYTHON (3.11 or later), JOBS, CC, CLANG."
	@echo "Run as root on Debian, targets that need compilers and emulators install them with apt-get; else they say what is missing."

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
#: more: the sources of LZ4 and heatshrink
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

#: more: the sources of the file systems to compare with
peers: littlefs fatfs yaffs2

# For `nf2 mount', `nf2 import' and the documentation site; what cannot be installed is left out, and tried again the next time.
#: use: what `nf2 mount', `nf2 import', `--compress' and the documentation site need beyond that
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

#: use: the host tools alone, without the benchmark and its peers: BUILD/venv/bin/nf2
tools: $(VENV)/ready
	@$(STEP) "Configuration" -- $(CONFIGURE_RELEASE)
	@$(STEP) "Compilation of the host tools" -- $(CMAKE) --build "$(RELEASE)" --parallel $(JOBS) --target nf2host
	@echo "The tools are ready: $(BIN)/nf2 --help"

#: use: a wheel of the Python package for all versions of Python: BUILD/dist
wheel: $(VENV)/ready
	@$(STEP) "Wheel of the Python package" -- tools/wheel.sh "$(VENV)" "$(BUILD)/dist"
	@ls "$(BUILD)/dist"/*.whl

# Zig's compiler comes from the package index, a hundred megabytes; it is installed beside the other tools.
#: more: wheels for Linux (glibc and musl) and macOS on x86_64 and ARM, compiled here for all of them: BUILD/dist
wheels: wheel
	@$(STEP) "A compiler for other systems" -- $(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement tools/requirements-wheels.txt
	@mkdir -p "$(BUILD)/wheels" && mv "$(BUILD)/dist"/*.whl "$(BUILD)/wheels/"
	@$(STEP) "Wheels for other systems" -- $(BIN)/python tools/cross_wheels.py "$(BUILD)/wheels"/*.whl "$(BUILD)/dist"
	@rm -r "$(BUILD)/wheels"; ls "$(BUILD)/dist"/*.whl

# The installed wheel, under each Python that there is.
PYTHONS ?= python3.11 python3.12 python3.13
#: test: installs the wheel under each of PYTHONS and runs its tests there
test-pythons: wheel
	@for python in $(PYTHONS); do tools/test_wheel.sh $$python "$(BUILD)/pythons/$$(basename $$python)" "$(BUILD)/dist" || exit 1; done

#: more: manual pages of the commands: BUILD/man
man: $(VENV)/ready
	@$(BIN)/python -m nf2fs.manpages "$(BUILD)/man"
	@echo "The manual pages are in $(BUILD)/man"

# The pages of docs/, as mkdocs.yml orders them; tests/python/test_site.py runs what they show.
#: use: the documentation as a site: BUILD/site
site: $(VENV)/extras
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --site-dir "$(BUILD)/site"
	@$(MAKE) pages PAGES="$(BUILD)/site/browser" || echo "make: the site is without the pages of guide/browser" >&2
	@echo "The site is in $(BUILD)/site: open index.html; to search in it too, run $(BIN)/python -m http.server --directory $(BUILD)/site"

# They have the file system inside, as WebAssembly: docs/guide/browser.md.
PAGES ?= $(BUILD)/pages
#: use: two pages for a browser, to look into images and to cut the power of a chip: BUILD/pages
.PHONY: pages
pages: tools
	@test -e "$(RELEASE)/python/nf2.wasm" || { echo "make pages: needs clang, lld and wasi-libc (Debian: clang lld wasi-libc libclang-rt-dev-wasm32)" >&2; exit 1; }
	@$(BIN)/python -m nf2fs.browser "$(RELEASE)/python/nf2.wasm" "$(PAGES)"
	@echo "The pages are in $(PAGES): open image.html or chip.html"

#: use: the library alone: BUILD/lib/libnf2fs.a
lib: $(VENV)/ready
	$(CMAKE) -S . -B "$(BUILD)/lib" -DCMAKE_BUILD_TYPE=Release -DNF2FS_HOST=OFF
	$(CMAKE) --build "$(BUILD)/lib" --parallel $(JOBS)

# The crate: its package, with the sources of the core inside, is in $(BUILD)/crate.
#: use: the crate of rust/: its tests, clippy, documentation, package, and a build for thumbv7em-none-eabihf
rust:
	@rust/check.sh "$(BUILD)"

# The tables of the guide: the same work over other crates, and what tasks of an async program wait.
#: figures: the tables of docs/guide/rust.md
rust-figures:
	CARGO_TARGET_DIR="$(BUILD)/rust" cargo run --release --manifest-path rust/bench/Cargo.toml -- --write docs/guide/rust.md
	CARGO_TARGET_DIR="$(BUILD)/rust" cargo run --release --manifest-path rust/embassy/Cargo.toml --features measure -- --write docs/guide/rust.md

#: use: library, virtual chip, benchmark and the host tools: BUILD/venv/bin/nf2 and norbench
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
#: use: all tests; with COMPLETE=1 it fails if any is left out
test: test-needs
	@$(MAKE) $(VENV)/ready-test $(VENV)/extras
	@$(RUN_TESTS)

# Before the Python environment: pyfuse3 is compiled.
.PHONY: test-needs
test-needs: | python
	@$(STEP) "What the tests need of this machine" -- tools/test_needs.sh || echo "make: some tests will be left out" >&2

#: more: the C tests alone, with sanitizers
test-asan: $(VENV)/ready
	@$(RUN_TESTS) asan

# What ships: the C tests that did not run with sanitizers, or run longer here, and the host tools.
#: more: benchmark and Python tests alone
test-release: $(VENV)/ready-test $(VENV)/extras
	@$(RUN_TESTS) release python

# Each call beside its bound: the long version of tests/python/test_call_bounds.py, and the page.
#: test: each call of every workload beside its bound, on more chips and in more states
#:   than `make test': docs/BOUNDS.md (ten minutes)
bounds: release
	$(BIN)/norbench bounds

# The corpus grows from run to run; what ends the process is kept beside it. Each run adds to the record.
CLANG ?= $(or $(shell for c in clang clang-19 clang-16 clang-15 clang-14; do command -v $$c && break; done),clang)
FUZZ_SECONDS ?= 600
FUZZ := $(BUILD)/fuzz
#: test: coverage-guided lists of calls and hostile images for FUZZ_SECONDS in all (needs clang with libFuzzer);
#:   adds to the record; FUZZ_OPTIONS gives further options (see tools/fuzz.py)
fuzz:
	@command -v "$(CLANG)" >/dev/null || { echo "make fuzz: no clang was found (Debian: clang, libclang-rt-dev); name it in CLANG" >&2; exit 1; }
	mkdir -p "$(FUZZ)"
	@$(VERSION) > "$(FUZZ)/version.txt"
	$(PYTHON) tools/fuzz.py --clang "$(CLANG)" --out "$(FUZZ)" --seconds $(FUZZ_SECONDS) --jobs $(JOBS) \
		--version "$$(cat "$(FUZZ)/version.txt")" $(FUZZ_OPTIONS)

#: more: the same of `make fuzz'
fuzz-record:
	$(PYTHON) tools/proof_page.py fuzz "$(FUZZ)/record.json" --version "@$(FUZZ)/version.txt"

# With little optimization, so that lines are what they seem.
COVERAGE := $(BUILD)/coverage
#: test: lines and branches of the core that the C tests reach
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

#: more: the same of `make coverage'
coverage-record:
	$(PYTHON) tools/proof_page.py coverage "$(COVERAGE)/coverage.json" --version "@$(COVERAGE)/version.txt"

SECONDS ?= 600
SEED ?= 1
TORTURE ?=
CUTS ?= 0
PROOF_SECONDS ?= 60

#: test: power cuts for SECONDS=600 (at most CUTS, where given) in JOBS=2 processes, from SEED=1: report and the
#:   calls of each failure in BUILD/torture; TORTURE=... gives further options (see tests/torture/torture.c)
torture: release
	rm -rf "$(BUILD)/torture"
	mkdir -p "$(BUILD)/torture"
	@$(VERSION) > "$(BUILD)/torture/version.txt"
	"$(RELEASE)/tests/torture" --seconds $(SECONDS) --jobs $(JOBS) --seed $(SEED) --enough $(CUTS) --out "$(BUILD)/torture" $(TORTURE)

#: more: puts the record of the last `make torture' into docs/PROOF.md
torture-record:
	$(PYTHON) tools/proof_page.py torture "$(BUILD)/torture/report.json" --version "@$(BUILD)/torture/version.txt"

PEER_CUTS ?= 300
#: test: the same cuts over NF2FS and its peers, PEER_CUTS=300 a script, file system and chip; into docs/PROOF.md
torture-peers: release
	mkdir -p "$(BUILD)/peers"
	@$(VERSION) > "$(BUILD)/peers/version.txt"
	"$(RELEASE)/tests/peer_cuts" --jobs $(JOBS) --seed $(SEED) --cuts $(PEER_CUTS) --out "$(BUILD)/peers"
	$(PYTHON) tools/proof_page.py peers "$(BUILD)/peers/peers.json" --version "@$(BUILD)/peers/version.txt"

# Each fault of src/broken.h in turn must be found.
#: test: the same must find each of the faults of src/broken.h (PROOF_SECONDS=60 each, at most)
torture-proof: release
	$(BIN)/python tools/torture_proof.py --build "$(BUILD)" --cmake "$(CMAKE)" --jobs $(JOBS) --seed $(SEED) \
		--seconds $(PROOF_SECONDS) --torture "$(TORTURE)"

# ---- the instrument ----

# Days of a product, in virtual time: a week takes some minutes.
DAYS ?= 7
#: figures: DAYS=7 of a product that logs, keeps settings and takes updates: docs/PRODUCT.md
product: release
	$(BIN)/python tools/product_page.py --program "$(RELEASE)/tests/product/product" --days $(DAYS) --jobs $(JOBS) \
		--rows "$(BUILD)/product.jsonl" --page docs/PRODUCT.md

# What papers print, and what was measured elsewhere, beside what is measured here.
#: figures: what papers print beside what is measured here: docs/VALIDATION.md (half an hour)
validation: release $(VENV)/ready-test
	$(BIN)/norbench validate --rows "$(BUILD)/validation.jsonl" --jobs $(JOBS)

# One page with plots, build/report.html, and the same rows as docs/BENCHMARKS.md.
REPORT_WORKLOADS ?= core,sensing,reads,mixedshort,mountfill50,mountfillu50
# Of these the instructions are counted too, which takes a hundred times as long.
REPORT_COUNTED ?= mountclean,create32,read32,delete32,config,swrite,rread,log32d
REPORT_CUTS ?= 30
#: figures: every file system over REPORT_WORKLOADS as one page with plots: BUILD/report.html
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
#: more: the program of ports/firmware, compiled only: BUILD/firmware/firmware.elf
firmware: $(VENV)/ready freertos
	@ports/firmware/tools.sh
	$(CMAKE) -S ports/firmware -B "$(FIRMWARE)" -DCMAKE_BUILD_TYPE=MinSizeRel -DNF2FS_FREERTOS_DIR="$(BUILD)/freertos" \
		-DCMAKE_TOOLCHAIN_FILE="$(CURDIR)/ports/firmware/arm-none-eabi.cmake"
	$(CMAKE) --build "$(FIRMWARE)" --parallel $(JOBS)

#: test: the library on an emulated Cortex-M4 with FreeRTOS, with KILLS=300 power losses from SEED=1 (ten minutes)
firmware-test: firmware release
	$(BIN)/python ports/firmware/firmware_test.py --firmware "$(FIRMWARE)/firmware.elf" --judge "$(RELEASE)/ports/firmware_judge" \
		--nf2 "$(BIN)/nf2" --folder "$(FIRMWARE)/run" --kills $(KILLS) --seed $(SEED)
	$(BIN)/python ports/firmware/firmware_tasks.py --build "$(FIRMWARE)" --faults

# The library as two files, and what it needs from outside.
.PHONY: amalgamation symbols
#: use: the library as two files, nf2fs.h and nf2fs.c, in BUILD/amalgamation
amalgamation: lib
	$(PYTHON) ports/amalgamate.py --build "$(BUILD)/lib" "$(BUILD)/amalgamation"

#: figures: what the library needs from outside, into docs/PORTING.md
symbols: lib
	@ports/firmware/tools.sh
	$(PYTHON) ports/symbols.py "$(BUILD)/lib" --write docs/PORTING.md

# ---- what it shows ----

# Nothing but what it runs is compiled.
#: use: a volume on a virtual chip: filled, checked byte by byte, measured; each step says how long it takes
demo: littlefs
	@$(STEP) "Configuration" -- $(CONFIGURE_RELEASE)
	@$(STEP) "Compilation" -- $(CMAKE) --build "$(RELEASE)" --parallel $(JOBS) --target nf2host norbench-cell
	@$(BIN)/python -m nf2fs.demo --directory "$(BUILD)/demo"

# The rows that take long are measured apart, and kept.
LONG := norbench/data/rows/long.jsonl
PEER_ROWS := norbench/data/rows/peer.jsonl
# Wear needs a mean above 200 to show, and a life takes as many erases as a chip bears: on chips small enough for minutes.
STUDIES = $(BIN)/norbench
# A row that fails is a row, too, with its reason; hours of others are not given up for it.
GO_ON = || echo "make: some of these rows failed: each says why" >&2
define measure_studies
	$(STUDIES) space --fs $(1) --jobs $(JOBS) --json "$(2)" $(GO_ON)
	$(STUDIES) directory --fs $(1) --jobs $(JOBS) --json "$(2)" $(GO_ON)
	$(STUDIES) latency --fs $(1) --jobs $(JOBS) --json "$(2)" $(GO_ON)
	$(STUDIES) overwrite --all --fs $(1) --jobs $(JOBS) --json "$(2)" $(GO_ON)
	for chip in w25q128/32M w25q128/128M; do $(STUDIES) overwrite --workload ow4k-50 --chip $$chip --fs $(1) --json "$(2)" $(GO_ON); done
	$(STUDIES) lifespan --workload lifelog,lifesmall --chip w25q256/4M --mean 300 --fs $(1) --json "$(2)" $(GO_ON)
	$(STUDIES) lifespan --workload lifelog,lifesmall --chip w25q80 --limit 2000 --fs $(1) --json "$(2)" $(GO_ON)
endef

# Raw flash and LittleFS are not measured anew: they did not change.
LONG_GATES = "ow*",lifelogd,lifesmall,lifesmalls,lifesmall-ecc16,lifelog-wear,lifelogd-wear,lifesmall-wear,lifesmalls-wear,"mixed*","phase*","firstwrite*","wake*","age*","wear*"
#: figures: measures anew those rows of norbench/data/rows/long.jsonl that are of another core, and what gates miss there:
#:   some hours, of which lifespans take most; where it was stopped it goes on. ROWS="ow*,mixed*" measures a part
long-rows: release $(VENV)/ready-test
	test -e "$(LONG)" || { $(MAKE) first-rows; }
	$(STUDIES) renew "$(LONG)" $(if $(ROWS),--workload "$(ROWS)") $(GO_ON)
	$(if $(ROWS),,$(STUDIES) figures --long --fs nf2fs --gate $(LONG_GATES) --jobs $(JOBS) --with "$(LONG)" --json "$(LONG)" --output - > /dev/null)

.PHONY: first-rows
#: more: all rows of the studies where long.jsonl is not there
first-rows: release $(VENV)/ready-test
	$(call measure_studies,nf2fs,$(LONG))

# LittleFS has rows that fail: an overwrite finds no space where the file does not fit on the chip twice.
#: figures: the same rows of LittleFS, and its best settings: peer.jsonl beside it; only where a workload or LittleFS changed
peer-rows: release $(VENV)/ready-test
	rm -f "$(PEER_ROWS)"
	$(call measure_studies,littlefs,$(PEER_ROWS))
	for workload in create create32 swrite rwrite20 log32d health1 ota2m config bbburn mountclean; do \
		$(STUDIES) best littlefs --workload $$workload --json "$(PEER_ROWS)" --jobs $(JOBS) --timeout 600 $(GO_ON); done

#: figures: docs/STUDIES.md and its plots, of the rows of both files
studies: release $(VENV)/ready-test
	$(BIN)/norbench studies $(wildcard $(LONG) $(PEER_ROWS))

#: figures: measure every gate: docs/FIGURES.md and the table in README.md; rows that take long are those of `make long-rows'
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

#: figures: bytes of code, static RAM and stack on a Cortex-M4, of each file and mechanism, beside LittleFS;
#:   SIZE_OPTIONS="--functions 30" prints the largest functions, too (see tools/target_size.py)
size: $(BUILD)/littlefs/fetched
	@$(PYTHON) tools/target_size.py $(TARGET_INPUT) $(SIZE_OPTIONS)

#: figures: instructions of calls on an emulated Cortex-M4, beside LittleFS and the gates: docs/TARGET.md;
#:   COST_OPTIONS="--fs nf2fs --ram 2048 --suite files" measures a part (see tools/target_cost.py)
target-cost: $(BUILD)/littlefs/fetched
	@$(PYTHON) tools/target_cost.py $(TARGET_INPUT) --page docs/TARGET.md $(COST_OPTIONS)

# norbench-cell for an emulated Cortex-M4, beside the one for this computer: `norbench run --processor' needs it.
.PHONY: processor
#: more: what `norbench run --processor' needs to count a cell's instructions (an ARM compiler, and qemu-arm)
processor: release
	@$(PYTHON) tools/target_cell.py $(TARGET_INPUT) --fatfs "$(BUILD)/fatfs" --yaffs2 "$(BUILD)/yaffs2" --beside "$(RELEASE)/norbench"

# No part of `make test'.
#: test: ruff over the Python code, clang-tidy over src/; says which of them is missing (RUFF, CLANG_TIDY name them)
lint:
	@tools/lint.sh "$(CORE_SOURCES)" "$(CORE_INCLUDES)"

ROW ?= update1k
#: figures: ROW=update1k: instructions of each function in a row of target/rows.toml;
#:   PROFILE_OPTIONS="--function NAME | --lines 20 | --top 40 | --fs littlefs | --ram 4096" (see tools/target_profile.py)
target-profile: $(BUILD)/littlefs/fetched
	@$(PYTHON) tools/target_profile.py $(TARGET_INPUT) --row $(ROW) $(PROFILE_OPTIONS)

#: use: remove BUILD
clean:
	rm -rf "$(BUILD)"
