# `make demo` and `make test` do all the set-up: they create .venv and install what is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium

.PHONY: help demo test lint types install browser clean
help:
	@echo "make demo    diagnose an embedded graph, compare five methods on it, write a report; offline"
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
	$(BIN)/heterophily bench --models cmgnn,gcn,mlp,h2gcn,acm-gcn --datasets digits --splits 0-2 \
		--set max_epochs=100 --out demo/results
	$(BIN)/heterophily table demo/results
	$(BIN)/heterophily report demo/results --out demo/report.html
	@echo "The report is $(CURDIR)/demo/report.html: open it in a browser."

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

# The report is tested in Chromium. Where it is missing and cannot be installed, those tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { test "$$(id -u)" = 0 && { $(APT) || { apt-get update -qq && $(APT); }; } >/dev/null 2>&1; } \
		|| echo "no Chromium here, and it could not be installed: browser tests are skipped"

test: lint types browser
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --cov --cov-report=term

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .coverage
