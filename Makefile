# Thin wrappers: CMakePresets.json defines the builds, and the scripts in tools/ run the checks.

FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
PREFIX ?= /usr/local

# asan-ubsan builds with clang, which also checks the lock annotations and is a second compiler with
# its own warnings.
TEST_SUITES := release asan-ubsan tsan

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build test demo bench docs format format-check lint coverage \
        fuzz mutants soak deb install uninstall check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install missing packages
	@tools/setup.sh

build: build-release ## build everything into build/

test: $(TEST_SUITES:%=build-%) ## build and run every test: release, sanitizers, short fuzz runs
	@python3 tools/run_tests.py $(TEST_SUITES)

check: ## the inner loop: unit tests, the command and source checks, in one quick build
	@tools/setup.sh check
	@test -f build/quick/build.ninja || cmake --preset quick
	@cmake --build --preset check
	@python3 tools/check.py build/quick

demo: ## run unmodified programs, show their packets and memory (3 minutes); writes build/demo.html
	@tools/setup.sh demo
	@test -f build/quick/build.ninja || cmake --preset quick
	@cmake --build --preset demo
	@python3 tools/demo.py build/quick build/demo.html

bench: build-release ## measure costs and compare them with their budgets; writes build/bench/*.json
	@python3 tools/bench.py
	@python3 bench/compare_peers.py
	@python3 bench/progress.py
	@python3 bench/fault_cost.py
	@python3 bench/ucx.py
	@python3 bench/cm.py
	@python3 bench/iwarp.py
	@python3 bench/registration_cache.py
	@python3 bench/guests.py

docs: ## render the pages and the API reference into build/docs/html
	@tools/setup.sh docs
	@python3 tools/docs.py

format: setup ## format all C++ files
	@python3 tools/format.py

format-check: setup ## fail if a C++ file is not formatted
	@python3 tools/format.py --check

lint: build-clang ## clang-tidy and the project's own checks
	@tools/lint.sh

coverage: build-coverage ## line coverage of the unit tests, per folder
	@python3 tools/coverage.py

fuzz: build-fuzz ## fuzz every target for FUZZ_SECONDS (60) seconds
	@python3 tools/run_fuzz.py --seconds $(FUZZ_SECONDS)

mutants: setup ## mutation testing: break one rule at a time and check that a test fails
	@python3 tools/mutants.py

soak: build-release ## change memory behind registrations for SOAK_SECONDS (600) seconds, in all ways
	@python3 tools/soak.py --seconds $(SOAK_SECONDS)

deb: build-release ## build the Debian packages libverbena0, libverbena-dev and verbena in build/
	@cd build && cpack -G DEB

install: build-release ## install into PREFIX (/usr/local), below DESTDIR if that is set
	@cmake --install build --prefix $(PREFIX)

uninstall: ## remove the files of the last `make install`
	@cmake --build build --target uninstall

clean: ## remove build/
	@rm -rf build

# A build directory is configured again only when the presets change: ninja itself detects changed
# CMake files and new sources.
build-release: build/build.ninja
	@cmake --build --preset release

build-%: build/%/build.ninja
	@cmake --build --preset $*

build/build.ninja: CMakePresets.json | setup
	@cmake --preset release && touch $@

build/%/build.ninja: CMakePresets.json | setup
	@cmake --preset $* && touch $@

# Keeps make from deleting the build.ninja files as intermediate files.
.SECONDARY:
