# Everything runs in .venv, made here with nothing but Python 3.11+, git and make.
# `make demo` and `make test` need Python alone; `make test-full` installs what else there is.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
EXTRAS_DEMO := bot,site,jax
EXTRAS_TEST := bot,site,jax,dev
# Bytecode is kept even if the caller forbids it: a hundred processes would compile the same files.
# Each worker begins with half of the tests, so that what a module shares is made once.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-full test-rest test-cluster lint bench mutants fuzz dist site site-check lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "Installing speedrun and what the demo needs into $(VENV) (one to four minutes) ..."
	$(PIP) install -e '.[$(EXTRAS_DEMO)]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "Installing speedrun and its tests into $(VENV) ..."
	$(PIP) install -e '.[$(EXTRAS_TEST)]'
	@touch $@ $(VENV)/demo.stamp

# torch is pinned to a CPU build that PyPI serves; a looser pin may pull gigabytes of CUDA.
$(VENV)/full.stamp: $(VENV)/test.stamp tests/full/requirements.txt tests/full/setup.sh
	$(PIP) install 'torch==2.13.0'
	$(PIP) install -r tests/full/requirements.txt
	bash tests/full/setup.sh
	@touch $@

demo: $(VENV)/demo.stamp  ## train, submit, check, comment and board on this machine, no account
	$(BIN)/speedrun demo

test: $(VENV)/test.stamp  ## the tests that need Python alone; the others say why they are skipped
	$(PYTEST) -rs

test-full: $(VENV)/full.stamp  ## every test; a skip is a failure
	SPEEDRUN_FULL=1 $(PYTEST)

test-rest: $(VENV)/full.stamp  ## what the last `make test` skipped; some minutes less than `make test-full`
	SPEEDRUN_FULL=1 SPEEDRUN_REST=1 $(PYTEST) --rest

lint: $(VENV)/test.stamp  ## ruff, and mypy --strict of bot, trainer and site
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Needs root and Debian's slurmctld, slurmd and munge. Ray and SkyPilot want older packages than we
# do, so they live in an environment of their own, which borrows ours.
$(VENV)/cluster.stamp: $(VENV)/full.stamp tests/cluster/requirements.txt
	$(PYTHON) -m venv $(VENV)/cluster
	$(BIN)/python -c 'import site; print(*site.getsitepackages(), sep="\n")' > \
	  $$(echo $(VENV)/cluster/lib/python3*/site-packages)/_borrowed.pth
	$(VENV)/cluster/bin/python -m pip install --quiet -r tests/cluster/requirements.txt
	@touch $@

test-cluster: $(VENV)/cluster.stamp  ## the trainer on real Slurm and Ray, on this machine
	SPEEDRUN_CLUSTER=1 $(VENV)/cluster/bin/python -m pytest tests/cluster

bench: $(VENV)/test.stamp  ## benchmarks against named peers, ratios printed
	$(BIN)/python -m tests.benchmarks

mutants: $(VENV)/test.stamp  ## 1,000 random mutants of what decides; which ones no test notices
	$(BIN)/python -m tests.mutation

fuzz: $(VENV)/test.stamp  ## ten minutes of random input for the readers and `check`
	$(BIN)/python -m tests.fuzz.fuzz_check --minutes 10

dist: | $(VENV)/bin/python  ## wheel, sdist and SHA256SUMS in dist/, the same bytes everywhere
	$(BIN)/python -m tests.dist --tag "$(TAG)"

site: $(VENV)/demo.stamp  ## build the board into build/site
	$(BIN)/speedrun site build --out build/site

site-check: $(VENV)/full.stamp  ## the site in Chromium: Lighthouse, axe, HTML, links, journeys
	$(BIN)/python -m tests.site.site_check

lock: $(VENV)/bin/python  ## versions and hashes of what the workflows install (.github/requirements)
	$(PIP) install uv
	for n in bot site publish uv; do $(BIN)/uv pip compile -q --generate-hashes --universal \
	  --python-version 3.11 --no-emit-index-url --no-annotate --no-header \
	  .github/requirements/$$n.in -o .github/requirements/$$n.txt || exit 1; done

clean:  ## remove what make made
	rm -rf $(VENV) build .cache
