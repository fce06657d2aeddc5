# `make demo` and `make test` create .venv and install the missing packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium

# The environment of `make lowest`. PyTorch publishes builds without CUDA at https://download.pytorch.org/whl/cpu, which
# TORCH_INDEX can name: `make lowest TORCH_INDEX=URL`. The default builds for Linux contain gigabytes of CUDA libraries.
LOWEST := .venv-lowest
LOWEST_TESTS ?= tests/commands tests/core tests/data tests/htmp tests/training
TORCH_INDEX ?=

# `make release` runs the demo in another folder and with the command of another environment.
RELEASE := build/release
HETEROPHILY := $(BIN)/heterophily
DEMO := demo

.PHONY: help demo docs test lint types pytest install browser run-demo lowest release fuzz chaos clean
help:
	@echo "make demo    diagnose a bundled graph, compare five methods on it, and write a report"
	@echo "make test    run the linter, the type checker, and the tests, as continuous integration does"
	@echo "make docs    build the documentation site, without network"
	@echo "make lowest  run tests with the lowest supported versions of all dependencies"
	@echo "make release build and check the wheel and the source distribution, and run the demo from the wheel"
	@echo "make fuzz    try 10,000 damaged inputs; SEED=1 selects other ones"
	@echo "make chaos   kill commands 300 times at random moments; SEED=1 selects other ones"
	@echo "make clean   remove .venv, the demo, and caches"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "heterophily requires Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	$(MAKE) --no-print-directory run-demo
	@echo "Open $(CURDIR)/demo/report.html in a browser."

run-demo:
	$(HETEROPHILY) diagnose digits --plot $(DEMO)/compatibility.png
	$(HETEROPHILY) bench --models cmgnn,gcn,mlp,h2gcn,acm-gcn --datasets digits --splits 0-2 \
		--set max_epochs=100 --out $(DEMO)/results
	$(HETEROPHILY) table $(DEMO)/results
	$(HETEROPHILY) report $(DEMO)/results --out $(DEMO)/report.html

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

pytest: install browser
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --cov --cov-report=term

test: lint types pytest

lowest:
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check $(addprefix --extra-index-url ,$(TORCH_INDEX)) \
		-c $(LOWEST)/constraints.txt -e '.[knn,pyg,report,search,tables]' hypothesis pandas polars pytest
	$(LOWEST)/bin/python -m pytest -q -W default $(LOWEST_TESTS)

# The wheel is built from the source distribution. The demo runs in an environment that contains nothing but the wheel.
release: install
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/release.py dist $(RELEASE)/notes.md
	$(PYTHON) -m venv $(RELEASE)/venv
	env -u PYTHONPATH $(RELEASE)/venv/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt "$$(echo dist/*.whl)[report]"
	env -u PYTHONPATH $(MAKE) --no-print-directory run-demo \
		HETEROPHILY=$(RELEASE)/venv/bin/heterophily DEMO=$(RELEASE)/demo
	@echo "dist/ is ready, and $(RELEASE)/notes.md contains the release notes."

SEED ?= 0

fuzz: install
	$(BIN)/python -m tests.robustness.fuzz --cases 10000 --seed $(SEED)

chaos: install
	$(BIN)/python -m tests.robustness.chaos --kills 300 --seed $(SEED)

clean:
	rm -rf $(VENV) $(LOWEST) build demo dist .mypy_cache .ruff_cache .pytest_cache .coverage
