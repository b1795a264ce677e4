# Every target sets up what it needs. `make` alone says what there is.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
LOCK   := requirements/test.txt
UV     := $(shell command -v uv 2>/dev/null)

# The stamp is named after everything an install depends on, the interpreter and the place of the tree included:
# a checkout that changes none of it re-installs nothing, whatever it does to the dates of the files.
STAMP  := $(VENV)/.installed-$(firstword $(shell { echo "$(PYTHON) $(CURDIR)"; $(PYTHON) -V 2>&1; cat pyproject.toml $(LOCK) 2>/dev/null; } | cksum))

.DEFAULT_GOAL := help
.PHONY: help demo test lint explore mutants chaos bench-coldstart pictures lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## the whole system once, on this machine: six functions, one market report
	@$(PY) -m flowcore.cli demo

test: lint ## everything a push has to pass: style, types, import contracts, docs, behaviour
	@echo "tests"
	@$(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder

lint: $(STAMP) ## style and types only
	@echo "style"
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@echo "types"
	@$(PY) -m mypy

explore: $(STAMP) ## walk every reachable state of small flows
	@$(PY) -m tests.explorer

mutants: $(STAMP) ## break the kernel on purpose; each break must fail a test
	@$(PY) -m tests.mutants

chaos: $(STAMP) ## crashes, storms, load, bad input and leaks on real processes; `make test` runs a short form
	@$(PY) -m tests.chaos $(ARGS)

bench-coldstart: $(STAMP) ## from the start of a process to its first answer, beside the bare floor
	@$(PY) -m tests.bench.coldstart

pictures: $(STAMP) ## draw the pictures of the README anew; needs Chromium
	@$(PY) -m tests.pictures

# The venv is made anew and stamped last: an install that broke half-way is never taken for a good one.
$(STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "flowcore needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "installing what $(LOCK) locks, with $(if $(UV),uv,pip) (once, until it changes)"
	@rm -rf $(VENV)
ifdef UV
	@uv venv --quiet --python "$$(command -v $(PYTHON))" $(VENV)
	@uv pip install --quiet --python $(PY) --require-hashes -r $(LOCK)
	@uv pip install --quiet --python $(PY) --no-deps --no-build-isolation -e .
else
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	@touch $@

# Only uv resolves for every platform at once, so without it on the PATH a copy is borrowed for the occasion.
lock: ## take the newest versions into the lock
	@mkdir -p .venv-lock
ifndef UV
	@echo "borrowing uv"
	@$(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv
endif
	@echo "resolving"
	@echo "# Made by 'make lock' from pyproject.toml. Not for editing." > .venv-lock/new.txt
	@$(or $(UV),.venv-lock/bin/uv) pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
	  --no-header pyproject.toml >> .venv-lock/new.txt
	@mv .venv-lock/new.txt $(LOCK)
	@rm -rf .venv-lock

clean: ## forget everything that can be made again
	@rm -rf $(VENV) .venv-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
