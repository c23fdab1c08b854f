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
PEER_OPTIONS = $(foreach peer,littlefs fatfs,$(if $(wildcard $(BUILD)/$(peer)/fetched),\
	-DNF2FS_$(if $(filter littlefs,$(peer)),LITTLEFS,FATFS)_DIR=$(BUILD)/$(peer)))

# What the Python tools load and run, wherever BUILD is.
export NF2FS_LIBRARY := $(RELEASE)/python/libnf2host.so
export NORBENCH_CELL := $(RELEASE)/norbench/norbench-cell

.PHONY: help lib release asan peers test test-asan test-release demo figures clean

help:
	@echo "make lib      the library alone: $(BUILD)/lib/libnf2fs.a"
	@echo "make release  library, virtual chip, benchmark and the host tools $(BIN)/nf2 and $(BIN)/norbench"
	@echo "make test     all tests: C tests with sanitizers, benchmark against its reference, Python tests"
	@echo "make demo     a volume on a virtual chip: filled, checked byte by byte, measured (about a minute)"
	@echo "make figures  measure every gate: docs/FIGURES.md and the table in README.md"
	@echo "make clean    remove $(BUILD)"
	@echo "Variables: BUILD (folder), PYTHON (3.11 or later), JOBS, CC"

# ---- what is needed ----

$(VENV)/ready: tools/venv.sh
	PYTHON="$(PYTHON)" tools/venv.sh "$(VENV)"

peers: $(VENV)/ready
	@for peer in littlefs fatfs; do \
		PYTHON="$(BIN)/python" peers/$$peer/fetch.sh "$(BUILD)/$$peer" || \
		echo "make: $$peer could not be fetched: the benchmark is built without it" >&2; \
	done

# ---- builds ----

lib: $(VENV)/ready
	$(CMAKE) -S . -B "$(BUILD)/lib" -DCMAKE_BUILD_TYPE=Release -DNF2FS_HOST=OFF
	$(CMAKE) --build "$(BUILD)/lib" --parallel $(JOBS)

release: peers
	$(CMAKE) -S . -B "$(RELEASE)" -DCMAKE_BUILD_TYPE=Release -DPython3_EXECUTABLE="$(BIN)/python" $(PEER_OPTIONS)
	$(CMAKE) --build "$(RELEASE)" --parallel $(JOBS)

asan: $(VENV)/ready
	$(CMAKE) -S . -B "$(ASAN)" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNF2FS_SANITIZE=ON
	$(CMAKE) --build "$(ASAN)" --parallel $(JOBS)

# ---- tests ----

# Both halves run, whatever the first one finds.
test:
	+$(MAKE) --keep-going test-asan test-release

test-asan: asan
	cd "$(ASAN)" && $(BIN)/ctest --output-on-failure --parallel $(JOBS) --exclude-regex '^norbench_(reference|slice)$$'

# The benchmark against its reference, a slice of its long rows, and the example, as they ship; the other C tests ran with sanitizers.
test-release: release
	cd "$(RELEASE)" && $(BIN)/ctest --output-on-failure --parallel $(JOBS) --tests-regex '^(norbench_(reference|slice)|example_.*)$$'
	$(BIN)/python -m pytest -q tests/python

# ---- what it shows ----

demo: release
	$(BIN)/python -m nf2fs.demo --folder "$(BUILD)/demo"

figures: release
	rm -f "$(BUILD)/figures.jsonl"
	$(BIN)/norbench figures --json "$(BUILD)/figures.jsonl" --jobs $(JOBS)

clean:
	rm -rf "$(BUILD)"
