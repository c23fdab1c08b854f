# SPDX-License-Identifier: BSD-2-Clause
# NF2FS. `make help` lists the targets. All that is made or fetched lies under build/.
# Needed: make, a C compiler, Python 3.11 with venv, and for the first run a Python package index.

BUILD ?= build
PYTHON ?= python3
JOBS ?= 2
# The core: 1 (src/) or 2 (core2/). A folder of builds is for one of them.
CORE ?= 1

MAKEFLAGS += --no-print-directory
override BUILD := $(abspath $(BUILD))
VENV := $(BUILD)/venv
BIN := $(VENV)/bin
CMAKE := $(BIN)/cmake
RELEASE := $(BUILD)/release
ASAN := $(BUILD)/asan

# A peer that could not be fetched is left out of the build: the benchmark then runs without it.
PEER_OPTIONS = $(foreach peer,littlefs fatfs,$(if $(wildcard $(BUILD)/$(peer)/fetched),\
	-DNF2FS_$(if $(filter littlefs,$(peer)),LITTLEFS,FATFS)_DIR=$(BUILD)/$(peer)))

# What the Python tools load and run, wherever BUILD is.
export NF2FS_LIBRARY := $(RELEASE)/python/libnf2host.so
export NORBENCH_CELL := $(RELEASE)/norbench/norbench-cell

.PHONY: help lib release asan peers test test-asan test-release bounds fuzz fuzz-record coverage coverage-record torture torture-record torture-peers torture-proof demo figures long-rows peer-rows studies clean

help:
	@echo "make lib      the library alone: $(BUILD)/lib/libnf2fs.a"
	@echo "make release  library, virtual chip, benchmark and the host tools $(BIN)/nf2 and $(BIN)/norbench"
	@echo "make test     all tests: C tests with sanitizers, benchmark against its reference, Python tests"
	@echo "make bounds   each call of every workload beside its bound, on more chips and in more states than \`make test': docs/BOUNDS.md (ten minutes)"
	@echo "make torture  power cuts for SECONDS=600 (at most CUTS, where given) in JOBS=2 processes, from SEED=1: report.txt, report.json and the calls"
	@echo "              of each failure in $(BUILD)/torture; TORTURE=... gives further options (see tests/torture/torture.c)"
	@echo "make torture-record  puts the record of the last \`make torture' into docs/PROOF.md"
	@echo "make torture-peers  the same cuts over NF2FS and its peers, PEER_CUTS=300 a script, file system and chip; into docs/PROOF.md"
	@echo "make torture-proof  the same must find each of the faults of src/broken.h (PROOF_SECONDS=60 each, at most)"
	@echo "make amalgamation  the library as two files, nf2fs.h and nf2fs.c, in $(BUILD)/amalgamation"
	@echo "make symbols  what the library needs from outside, into docs/PORTING.md"
	@echo "make firmware-test  the library on an emulated Cortex-M4 with FreeRTOS, with KILLS=300 power losses from SEED=1 (ten minutes)"
	@echo "make demo     a volume on a virtual chip: filled, checked byte by byte, measured (about a minute)"
	@echo "make figures  measure every gate: docs/FIGURES.md and the table in README.md; the rows that take long are those of"
	@echo "make long-rows  which measures them anew, for $(LONG) (an hour or two; lifespans are the longest)"
	@echo "make peer-rows  the same rows of LittleFS, for $(PEER_ROWS): only where a workload or LittleFS changed"
	@echo "make studies  docs/STUDIES.md and its plots, of the rows of both files"
	@echo "make fuzz     coverage-guided lists of calls and hostile images for FUZZ_SECONDS in all (needs clang with libFuzzer); adds to the"
	@echo "              record, which \`make fuzz-record' puts into docs/PROOF.md; FUZZ_OPTIONS gives further options (see tools/fuzz.py)"
	@echo "make coverage lines and branches of the core that the C tests reach; \`make coverage-record' puts them into docs/PROOF.md"
	@echo "make clean    remove $(BUILD)"
	@echo "Variables: BUILD (folder), PYTHON (3.11 or later), JOBS, CC, CLANG, FUZZ_SECONDS, CORE (1 or 2, each with a folder BUILD of its own)"

# What a record was made with: the version, and the state of the sources.
VERSION = echo "$$(sed -n 's/.*NF2_VERSION "\(.*\)"/\1/p' include/nf2fs/nf2fs.h), sources $$(git describe --always 2>/dev/null || echo unknown)$$(git diff --quiet HEAD -- . ':!docs' 2>/dev/null; test $$? -ne 1 || echo -dirty)"

# ---- what is needed ----

$(VENV)/ready: tools/venv.sh tools/requirements.txt
	PYTHON="$(PYTHON)" tools/venv.sh "$(VENV)"

peers: $(VENV)/ready
	@for peer in littlefs fatfs; do \
		PYTHON="$(BIN)/python" peers/$$peer/fetch.sh "$(BUILD)/$$peer" || \
		echo "make: $$peer could not be fetched: the benchmark is built without it" >&2; \
	done

# Without FreeRTOS the tests that need it are left out.
FREERTOS_OPTION = $(if $(wildcard $(BUILD)/freertos/fetched),-DNF2FS_FREERTOS_DIR=$(BUILD)/freertos)
.PHONY: freertos
freertos:
	@ports/freertos/fetch.sh "$(BUILD)/freertos" || echo "make: FreeRTOS could not be fetched: its tests are left out" >&2

# ---- builds ----

lib: $(VENV)/ready
	$(CMAKE) -S . -B "$(BUILD)/lib" -DCMAKE_BUILD_TYPE=Release -DNF2FS_HOST=OFF -DNF2FS_CORE=$(CORE)
	$(CMAKE) --build "$(BUILD)/lib" --parallel $(JOBS)

release: peers freertos
	$(CMAKE) -S . -B "$(RELEASE)" -DCMAKE_BUILD_TYPE=Release -DNF2FS_CORE=$(CORE) -DPython3_EXECUTABLE="$(BIN)/python" $(PEER_OPTIONS) $(FREERTOS_OPTION)
	$(CMAKE) --build "$(RELEASE)" --parallel $(JOBS)

asan: $(VENV)/ready freertos
	$(CMAKE) -S . -B "$(ASAN)" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNF2FS_SANITIZE=ON -DNF2FS_CORE=$(CORE) $(FREERTOS_OPTION)
	$(CMAKE) --build "$(ASAN)" --parallel $(JOBS)

# ---- tests ----

# All parts run, whatever the first one finds; at the end the names of the tests that failed are shown.
RUN_TESTS = $(BIN)/python tools/run_tests.py --build "$(BUILD)" --core $(CORE) --jobs $(JOBS)
test: $(VENV)/ready
	@$(RUN_TESTS)

test-asan: $(VENV)/ready
	@$(RUN_TESTS) asan

# What ships: the C tests that did not run with sanitizers, or run longer here, and the host tools.
test-release: $(VENV)/ready
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
	$(PYTHON) tools/fuzz.py --core $(CORE) --clang "$(CLANG)" --out "$(FUZZ)" --seconds $(FUZZ_SECONDS) --jobs $(JOBS) \
		--version "$$(cat "$(FUZZ)/version.txt")" $(FUZZ_OPTIONS)

fuzz-record:
	$(PYTHON) tools/proof_page.py fuzz "$(FUZZ)/record.json" --version "@$(FUZZ)/version.txt"

# With little optimization, so that lines are what they seem.
COVERAGE := $(BUILD)/coverage
coverage: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "gcovr==8.8"
	$(CMAKE) -S . -B "$(COVERAGE)" -DCMAKE_BUILD_TYPE=Debug -DNF2FS_PYTHON=OFF -DNF2FS_CORE=$(CORE) -DCMAKE_C_FLAGS="--coverage -O1" -DCMAKE_EXE_LINKER_FLAGS=--coverage
	$(CMAKE) --build "$(COVERAGE)" --parallel $(JOBS)
	find "$(COVERAGE)" -name '*.gcda' -delete
	cd "$(COVERAGE)" && $(BIN)/ctest --output-on-failure --parallel $(JOBS) --exclude-regex '^norbench_.*$$'
	"$(COVERAGE)/tests/test_faults" --links 10 --places 0
	@$(VERSION) > "$(COVERAGE)/version.txt"
	$(BIN)/python -m gcovr --root . --filter $(if $(filter 2,$(CORE)),core2/,src/) --exclude-throw-branches --merge-mode-functions separate --gcov-ignore-errors=no_working_dir_found \
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

# An emulated Cortex-M4 with a W25Q256 behind its flash controller: see ports/firmware/main.c.
FIRMWARE := $(BUILD)/firmware
KILLS ?= 300
.PHONY: firmware firmware-test
firmware: $(VENV)/ready freertos
	@ports/firmware/tools.sh
	$(CMAKE) -S ports/firmware -B "$(FIRMWARE)" -DCMAKE_BUILD_TYPE=MinSizeRel -DNF2FS_CORE=$(CORE) -DNF2FS_FREERTOS_DIR="$(BUILD)/freertos" \
		-DCMAKE_TOOLCHAIN_FILE="$(CURDIR)/ports/firmware/arm-none-eabi.cmake"
	$(CMAKE) --build "$(FIRMWARE)" --parallel $(JOBS)

firmware-test: firmware release
	$(BIN)/python ports/firmware/firmware_test.py --firmware "$(FIRMWARE)/firmware.elf" --judge "$(RELEASE)/ports/firmware_judge" \
		--nf2 "$(BIN)/nf2" --folder "$(FIRMWARE)/run" --kills $(KILLS) --seed $(SEED)

# The library as two files, and what it needs from outside.
.PHONY: amalgamation symbols
amalgamation: lib
	$(PYTHON) ports/amalgamate.py --build "$(BUILD)/lib" "$(BUILD)/amalgamation"

symbols: lib
	@ports/firmware/tools.sh
	$(PYTHON) ports/symbols.py "$(BUILD)/lib" --write docs/PORTING.md

# ---- what it shows ----

demo: release
	$(BIN)/python -m nf2fs.demo --folder "$(BUILD)/demo"

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
	$(STUDIES) figures --long --gate lifelogd,lifesmall,lifesmalls,lifesmall-ecc16,lifelog-wear,lifelogd-wear,lifesmall-wear,lifesmalls-wear,owread-random,owread-sequential --jobs $(JOBS) \
		--json "$(LONG)" --output - > /dev/null

# LittleFS has rows that fail: an overwrite finds no space where the file does not fit on the chip twice.
peer-rows: release
	$(call measure_studies,littlefs,$(PEER_ROWS),|| true)

studies: release
	$(BIN)/norbench studies $(wildcard $(LONG) $(PEER_ROWS))

figures: release
	rm -f "$(BUILD)/figures.jsonl"
	$(BIN)/norbench figures --json "$(BUILD)/figures.jsonl" --jobs $(JOBS) $(addprefix --with ,$(wildcard $(LONG) $(PEER_ROWS)))

clean:
	rm -rf "$(BUILD)"
