# `make demo` and `make test` do all the set-up: they create .venv and install what is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint types install clean
help:
	@echo "make demo    diagnose an embedded graph, offline"
	@echo "make test    everything that continuous integration runs"
	@echo "make clean   remove .venv and caches"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "heterophily needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	$(BIN)/heterophily diagnose digits --plot demo/compatibility.png

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest --cov --cov-report=term

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .coverage
