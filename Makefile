# `make demo` and `make test` create .venv and install the missing packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium

# The environment of `make lowest`. PyTorch publishes builds without CUDA at https://download.pytorch.org/whl/cpu, which
# TORCH_INDEX can name: `make lowest TORCH_INDEX=URL`. The default builds for Linux contain gigabytes of CUDA libraries.
LOWEST := .venv-lowest
LOWEST_TESTS ?= tests/core tests/data tests/htmp tests/training
TORCH_INDEX ?=

.PHONY: help demo docs test lint types install browser lowest fuzz clean
help:
	@echo "make demo    diagnose a bundled graph, compare five methods on it, and write a report"
	@echo "make test    run the linter, the type checker, and the tests, as continuous integration does"
	@echo "make docs    build the documentation site, without network"
	@echo "make lowest  run tests with the lowest supported versions of all dependencies"
	@echo "make fuzz    try 10,000 damaged inputs; SEED=1 selects other ones"
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

docs: install
	$(BIN)/python tools/docs.py build/docs
	@echo "Run $(BIN)/python -m http.server --directory build/docs/site and open http://localhost:8000"

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

lowest:
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check $(addprefix --extra-index-url ,$(TORCH_INDEX)) \
		-c $(LOWEST)/constraints.txt -e '.[knn,pyg,report,search,tables]' hypothesis pandas polars pytest
	$(LOWEST)/bin/python -m pytest -q -W default $(LOWEST_TESTS)

SEED ?= 0

fuzz: install
	$(BIN)/python -m tests.robustness.fuzz --cases 10000 --seed $(SEED)

clean:
	rm -rf $(VENV) $(LOWEST) build demo .mypy_cache .ruff_cache .pytest_cache .coverage
