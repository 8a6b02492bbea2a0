# Every command of ctxbudget. `make help` lists them.
PORT ?= 8000
DATA_DIR ?= ./var
PYTHON ?= $(shell command -v python3.11 || command -v python3)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes
BASE := $(VENV)/.installed-base
DEV := $(VENV)/.installed-dev

# The black-box part of the suite: it runs on SQLite and again on Postgres.
BLACK_BOX := $(wildcard tests/api tests/flows tests/gateway tests/services tests/proofs tests/spec)
PYTEST := $(BIN)/python -m pytest -q
PARALLEL := -n 2 --dist loadfile
PURE_PROOFS := tests/proofs/test_p5_money_oracle.py tests/proofs/test_p13_assembly.py
TYPED := kernel teams budgets providers sessions analytics gateway ctxbudget_site

.DEFAULT_GOAL := help
.PHONY: help demo screenshots run test lint fix bench lock spec proofs proofs-ci browser clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# exec: a signal to make must reach the command, not a shell in between.
run: export CTXBUDGET_PORT = $(PORT)
run: export CTXBUDGET_DATA_DIR = $(abspath $(DATA_DIR))
run: $(BASE) ## Start everything on this machine (PORT=8000 DATA_DIR=./var)
	@exec $(BIN)/python manage.py up

test: $(DEV) ## Run all tests on SQLite, then the black-box part on a real Postgres and Redis
	CTXBUDGET_TEST_DB=sqlite $(PYTEST) $(PARALLEL)
	CTXBUDGET_TEST_DB=postgres $(PYTEST) $(PARALLEL) $(BLACK_BOX)

lint: $(DEV) ## Check style, types, import directions and pins
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	@! grep -n '://' requirements/*.txt || { echo "A host name stands in the pins; make lock writes them without."; exit 1; }

fix: $(DEV) ## Repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

spec: $(DEV) ## Show every row of the specification: passing, failing or missing
	@$(BIN)/python -m tests.spec.report

proofs-ci: $(DEV) ## Run the proofs that need no second process at full length; `make test` has all in their short form
	CTXBUDGET_PROOF=full CTXBUDGET_TEST_DB=sqlite $(PYTEST) $(PARALLEL) --durations 5 $(PURE_PROOFS)

proofs: $(DEV) ## Run the promises at full length, on both databases
	CTXBUDGET_PROOF=full CTXBUDGET_TEST_DB=sqlite $(PYTEST) $(PARALLEL) --durations 5 -m 'not browser' tests/proofs
	CTXBUDGET_PROOF=full CTXBUDGET_TEST_DB=postgres $(PYTEST) $(PARALLEL) --durations 5 -m 'not browser' tests/proofs

browser: $(DEV) ## Run the pages in a real Chromium
	$(PYTEST) -m browser tests

demo: $(BASE) ## Fill the project demo/shop with a week of realistic sessions (DATA_DIR=./var)
	@CTXBUDGET_PORT="$(PORT)" CTXBUDGET_DATA_DIR="$(abspath $(DATA_DIR))" $(BIN)/python manage.py demo

screenshots: $(DEV) ## Take a picture of each page, light and dark, into docs/screenshots
	$(BIN)/python -m tests.browser.screenshots

bench: $(DEV) ## Print the benchmark table; peers are installed into a throw-away environment
	@PEERS=$${PEERS-1} $(BIN)/python -m benchmarks

lock: $(DEV) ## Rewrite the hash-pinned requirements
	for name in base dev prod; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    --no-emit-index-url --upgrade requirements/$$name.in -o requirements/$$name.txt; \
	done

clean: ## Remove the environment and caches; the data folder stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis staticfiles

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ctxbudget needs Python 3.11 or newer."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BASE): requirements/base.txt | $(BIN)/python
	$(PIP) -r requirements/base.txt
	@touch $@

$(DEV): requirements/dev.txt | $(BIN)/python
	$(PIP) -r requirements/dev.txt
	@touch $(BASE) $@
