# make answer   answer a question about a bundled story with the bundled model
# make test     everything that is checked: lint, types, unit, integration and browser tests
# make check    lint and types only
# make bench    benchmarks on this machine, CPU or GPU
# make clean    remove what the above made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: answer test check bench clean

answer: $(VENV)/installed
	@$(BIN)/epireader answer --demo

# Two threads for one small matrix product are slower than one, and the tests run on two cores as it is.
test: export OMP_NUM_THREADS ?= 1
test: check
	$(BIN)/python -m pytest -n 2 -rs

check: $(VENV)/installed-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/installed-for-tests
	@$(BIN)/python benchmarks/speed.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "EpiReader needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/installed-for-tests: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
