# Kilit's commands. `make` alone explains them; each is a line or two over manage.py or a tool of pyproject.toml.

PYTHON ?= python3
UV_VERSION := 0.13.7
BIN := .venv/bin

# Every start would compile the product anew where Python may not write its caches.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help up up-google down test quick durations fuzz lint fmt messages screenshots bench bench-full chaos load lock

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: .venv/runtime ## Install, start everything, print the address and the demo logins; Ctrl-C stops it (PORT, KILIT_VAR)
	@$(BIN)/python manage.py up

up-google: .venv/runtime ## The same, with a Google Ads server on loopback for the demo's API site
	@$(BIN)/python -m simulators.googleads

down: ## Stop what `make up` started, the embedded PostgreSQL included
	@test ! -x $(BIN)/python || $(BIN)/python manage.py down

test: .venv/dev lint ## Check formatting, types and architecture, then run every test
	@$(BIN)/python manage.py browser
	@# More than two cores would take: many tests wait for processes that they started.
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 25

quick: .venv/dev ## Run the tests that start no processes, in under three minutes
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m 'not processes and not slow'

durations: .venv/dev ## Run every test, and store how long each file takes, for the order of `make test`
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --store-durations

fuzz: .venv/dev ## Try every property, and every request that the schema allows, with many more examples (EXAMPLES=500)
	@KILIT_SCHEMATHESIS_EXAMPLES=$(or $(EXAMPLES),100) $(BIN)/python -m pytest tests/api/test_schemathesis.py
	@EXAMPLES=$(or $(EXAMPLES),500) $(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz

lint: .venv/dev ## Check without changing: ruff, mypy, import-linter, djlint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/djlint --check --lint --quiet templates
	@$(BIN)/lint-imports
	@$(BIN)/mypy

fmt: .venv/dev ## Format and mend what can be mended by machine
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/djlint --reformat --quiet templates

messages: .venv/dev ## Collect the console's sentences for translation, and compile what is translated (needs GNU gettext)
	@$(BIN)/python manage.py makemessages --locale tr --no-wrap --no-location --no-obsolete --verbosity 0 \
		--ignore 'tests/*' --ignore 'var/*' --ignore '.venv/*' --ignore 'templates/pdf/*'
	@$(BIN)/python manage.py compilemessages --locale tr --verbosity 0 --ignore '.venv'

screenshots: .venv/dev ## Take the pictures of the documents anew, from demo data (docs/images)
	@$(BIN)/python -m tests.browser.screenshots

bench: .venv/dev ## Measure ours against named peers and limits in one run, in ten minutes (ONLY="name …" for some)
	@$(BIN)/python -m tests.benchmarks $(if $(ONLY),--only $(ONLY))

bench-full: .venv/dev ## The same with ten million rows and longer runs
	@$(BIN)/python -m tests.benchmarks --full $(if $(ONLY),--only $(ONLY))

chaos: .venv/dev ## Strike real processes for five minutes at most, then check every promise (SEED= repeats a run, SECONDS=)
	@$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(WITHOUT),--without $(WITHOUT))

load: .venv/dev ## 200 clients over all endpoints for two minutes: no 5xx, no row lost, memory flat
	@$(BIN)/python -m tests.chaos.load

lock: $(BIN)/uv ## Pin every package with hashes, from pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --python-version 3.11 --output-file requirements.txt
	@$(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --python-version 3.11 --extra dev --constraint requirements.txt --output-file requirements-dev.txt

# uv installs in seconds what takes pip a minute.
$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kilit needs Python 3.11 or newer: make PYTHON=python3.12 up")'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# Each stamp is newer than the lock file it was installed from, so a second start installs nothing.
.venv/runtime: requirements.txt | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.txt
	@touch $@

.venv/dev: requirements-dev.txt | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.txt
	@# Compiled by all cores at once, rather than by the first of the hundreds of processes that tests start.
	@$(BIN)/python -m compileall -q -j 0 -x 'google/ads|/moto/' .venv/lib || true
	@touch $@ .venv/runtime
