# `make demo` and `make test` create .venv and install the missing packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium

.PHONY: help demo test lint types install browser clean
help:
	@echo "make demo    diagnose a bundled graph, compare five methods on it, and write a report"
	@echo "make test    run the linter, the type checker, and the tests, as continuous integration does"
	@echo "make clean   remove .venv, the demo, and caches"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "heterophily requires Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	$(BIN)/heterophily diagnose digits --plot demo/compatibility.png
	$(BIN)/heterophily bench --models cmgnn,gcn,mlp,h2gcn,acm-gcn --datasets digits --splits 0-2 \
		--set max_epochs=100 --out demo/results
	$(BIN)/heterophily table demo/results
	$(BIN)/heterophily report demo/results --out demo/report.html
	@echo "Open $(CURDIR)/demo/report.html in a browser."

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

# The report is tested in Chromium. If it is missing and cannot be installed, those tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { test "$$(id -u)" = 0 && { $(APT) || { apt-get update -qq && $(APT); }; } >/dev/null 2>&1; } \
		|| echo "Chromium is not available and could not be installed; browser tests are skipped"

test: lint types browser
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --cov --cov-report=term

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .coverage
