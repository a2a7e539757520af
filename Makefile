# Kerncap's tasks. `make demo` and `make test` install what is missing first (scripts/setup) and work from a clean clone.
SHELL := /bin/bash
PYTHON := .venv/bin/python
SUITES := trixie sid
DEMO_SUITE := trixie
# Tests of `make test`: a declared subset, under 45 minutes on a cold two-core machine. `make test-full` runs everything.
PYTEST := $(PYTHON) -m pytest -p no:cacheprovider --timeout=900
# Half of a test's time is waiting for one thread or another: two at a time take 0.6 of the time, on two cores too.
PARALLEL := -n 2 --dist worksteal

# Random programs: how long, and from which seed on.
FUZZ_TIME := 600
FUZZ_SEED := 1000
TOOLCHAIN := kerncap/toolchain

.PHONY: help demo test test-full test-apps test-soak test-report test-triton test-triton-releases test-triton-torch matrix setup images native native-test isa-coverage hw-conformance sanitize fuzz-decoder fuzz-readers fuzz bench evaluation lint clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

demo: setup  ## the main job, visibly: capture, pack, push, pull, replay in a container, verdicts
	@$(PYTHON) -m kerncap image build $(DEMO_SUITE)
	KERNCAP_DEMO_SUITE=$(DEMO_SUITE) scripts/demo

test: setup lint images  ## what CI runs: lint, native, unit, conformance and end-to-end tests (declared subset)
	@echo "declared subset: native tests on $(firstword $(SUITES)), the others' in make test-full; end-to-end combinations likewise"
	@$(MAKE) --no-print-directory native-test SUITES=$(firstword $(SUITES))
	@set -e; for suite in $(wordlist 2,9,$(SUITES)); do scripts/build-native $$suite -- vgpu-fuzz-runner; done
	$(PYTEST) $(PARALLEL) tests -m "not full and not apps"

test-full: setup lint images native-test  ## every target x runtime combination; real programs where their images are built
	$(PYTEST) $(PARALLEL) tests

APPS := llama rocblas rocprim rocthrust
test-apps: setup  ## programs nobody here wrote, on the virtual GPU; builds their images (17 GB). APPS="llama rocblas rocprim rocthrust"
	@$(PYTHON) -m kerncap image build $(foreach app,$(APPS),--app $(app))
	scripts/build-native sid -- kerncap-isa kerncap-replay libkerncap.so libkerncap-vgpu.so
	$(if $(filter llama,$(APPS)),scripts/fetch-llama-source)
	$(PYTEST) tests/apps $(foreach app,$(APPS),--app $(app))

test-report: setup  ## HTML reports in Chromium, on a phone's screen too; builds an image for it (2.4 GB, 1 GB of it its own)
	@$(PYTHON) -m kerncap image build --app browser
	$(PYTEST) tests/report

SOAK := 200
test-soak: setup images  ## the HIP and HSA test programs SOAK times in a row on each suite, half of them on a busy machine
	@set -e; for suite in $(SUITES); do \
	  scripts/build-native $$suite -- kerncap-replay libkerncap.so libkerncap-vgpu.so; \
	  $(PYTEST) -x -v tests/e2e --suite $$suite --soak $(SOAK) | tee build/soak-$$suite.log; test $${PIPESTATUS[0]} = 0; \
	done

MATRIX_TARGETS :=
matrix: setup images  ## whole kernels with many compiler options on the virtual GPU; MATRIX_TARGETS=gfx942
	@status=0; for suite in $(SUITES); do mkdir -p build/matrix/$$suite; \
	  docker run --rm --network none --user "$$(id -u):$$(id -g)" -v "$(CURDIR):/src:ro" -v "$(CURDIR)/build/matrix:/matrix" \
	    kerncap/dev:$$suite python3 -B /src/tests/matrix/matrix.py --native /src/build/native/$$suite --work /matrix/$$suite \
	    $(if $(MATRIX_TARGETS),--targets $(MATRIX_TARGETS)) || status=1; \
	done; exit $$status

TRITON := 3.6.0
test-triton: setup  ## Triton's kernels on the virtual GPU, against numpy and captured from programs; fetches its compilers (530 MB), builds their images
	@[ "$$(cat build/triton/.version 2>/dev/null)" = $(TRITON) ] || { rm -rf build/triton \
	  && $(PYTHON) -m pip install -q --no-deps --target build/triton triton==$(TRITON) && echo $(TRITON) > build/triton/.version; }
	@$(PYTHON) -m kerncap image build $(SUITES)
	@$(PYTHON) -m kerncap image build --only triton $(SUITES)
	$(PYTEST) tests/triton

TRITON_RELEASES :=
test-triton-releases: setup  ## further releases of Triton, one image after another (built, tested, removed; 0.7 GB each); TRITON_RELEASES=3.8.0
	scripts/test-triton-releases $(TRITON_RELEASES)

test-triton-torch: setup  ## Inductor's tuner and launchers, with Debian sid's torch; makes an image for it and removes it
	scripts/test-triton-torch

setup:  ## packages, .venv, a Docker engine if none answers
	@scripts/setup

images: setup  ## base, tool chain, dev and runtime images of both suites; quick when nothing changed
	@$(PYTHON) -m kerncap image build $(SUITES)

native: setup  ## native code of both suites, in build/native/SUITE
	@$(PYTHON) -m kerncap image build --only toolchain $(SUITES) >/dev/null
	@set -e; for suite in $(SUITES); do scripts/build-native $$suite; done

native-test: native  ## native unit tests in both tool chains
	@set -e; for suite in $(SUITES); do echo "== native unit tests: $$suite"; scripts/build-native $$suite --test; done

isa-coverage: native  ## fidelity and tests of every instruction of the virtual GPU: docs/isa-fidelity.md, docs/isa-coverage.md
	scripts/isa-coverage $(firstword $(SUITES))

sanitize: setup  ## native unit tests under AddressSanitizer and UBSan, first suite
	@$(PYTHON) -m kerncap image build --only toolchain $(firstword $(SUITES)) >/dev/null
	scripts/build-native $(firstword $(SUITES)) --sanitize address,undefined --test

HW_SUITE := trixie
HW_DEVICE := gpu
HW_RESULT := hw-conformance.json
hw-conformance:  ## every ALU instruction on a GPU (HW_DEVICE=gpu or vgpu:TARGET) into HW_RESULT; compare: scripts/compare-conformance
	@$(PYTHON) -m kerncap image build --only toolchain $(HW_SUITE) >/dev/null
	scripts/build-native $(HW_SUITE)
	scripts/hw-conformance $(HW_SUITE) $(HW_DEVICE) $(HW_RESULT)

FUZZ_SECONDS := 300
fuzz-decoder: setup  ## libFuzzer on the virtual GPU's decoder and interpreter for FUZZ_SECONDS
	@$(PYTHON) -m kerncap image build --only toolchain trixie >/dev/null
	scripts/build-native trixie --fuzz decoder $(FUZZ_SECONDS)

fuzz-readers: setup  ## hostile bundles: libFuzzer on the native readers, atheris on the Python ones, FUZZ_SECONDS each
	@$(PYTHON) -m kerncap image build --only toolchain trixie >/dev/null
	scripts/build-native trixie --fuzz readers $(FUZZ_SECONDS)
	$(PYTHON) -m pip install -q atheris
	$(PYTHON) tests/fuzz_readers/campaign.py --seconds $(FUZZ_SECONDS)

fuzz: setup images  ## random programs on the virtual GPU and on the host; FUZZ_TIME=600 seconds a suite, FUZZ_SEED=n
	@status=0; for suite in $(SUITES); do \
	  docker run --rm --network none --user "$$(id -u):$$(id -g)" -v "$(CURDIR):/src:ro" -w /src $(TOOLCHAIN):$$suite \
	    python3 -B tests/fuzz/campaign.py --native build/native/$$suite --time $(FUZZ_TIME) \
	    --seeds $(FUZZ_SEED):$$(($(FUZZ_SEED) + 1000000)) || status=1; \
	done; exit $$status

bench: setup images  ## speed, as ratios measured in one run
	@status=0; $(PYTHON) benchmarks/run.py || status=1; $(PYTHON) benchmarks/transport.py || status=1; $(PYTHON) benchmarks/chunks.py || status=1; $(PYTHON) benchmarks/verdict.py || status=1; $(PYTHON) benchmarks/capture.py || status=1; $(PYTHON) benchmarks/intercept.py || status=1; $(PYTHON) benchmarks/source.py || status=1; $(PYTHON) benchmarks/vgpu.py || status=1; exit $$status

EVALUATION :=
evaluation: setup  ## the paper's tables on real programs, GPU or not, into docs/evaluation.md; EVALUATION="--apps llama --runs 3"
	@$(PYTHON) -m kerncap image build $(foreach app,llama rocblas rocprim,--app $(app))
	scripts/build-native sid -- kerncap-isa kerncap-replay libkerncap.so libkerncap-vgpu.so
	scripts/fetch-llama-source
	$(PYTHON) benchmarks/evaluation.py $(EVALUATION)

lint: setup  ## ruff and mypy
	$(PYTHON) -m ruff check kerncap tests
	$(PYTHON) -m ruff format --check kerncap
	$(PYTHON) -m mypy kerncap

clean:  ## remove build products of this checkout (not .venv, not images, not a running engine's files)
	rm -rf build/native build/wheels build/apt.log
