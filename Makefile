# Kilit's commands. `make` lists them; each is a line or two around manage.py or a tool configured in pyproject.toml.

# The Pythons that the tests were run on (docs/versions.md). The newest one on PATH, of pyenv or of uv is used; PYTHON=… decides.
VERSIONS := 3.14 3.13 3.12 3.11
PYTHON ?= $(shell for version in $(VERSIONS); do for python in python$$version python3 \
	"$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python \
	"$${UV_PYTHON_INSTALL_DIR:-$${XDG_DATA_HOME:-$$HOME/.local/share}/uv/python}"/cpython-$$version.*/bin/python; do \
	"$$python" -c "import ensurepip, sys; print(sys.executable) if sys.version.startswith('$$version.') else exit(1)" 2> /dev/null && exit; \
	done; done; echo $(FALLBACK))
FALLBACK := python3
python = $(eval python := $(PYTHON))$(python)
UV_VERSION := 0.13.7
BIN := .venv/bin
# What pyproject.toml declares, in the versions and with the hashes of requirements.txt.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --constraint requirements.txt -r pyproject.toml
EXTRAS ?= server embedded s3 alerts optimiser cli
# Files as they are listed in tests/durations.json: the longest first, each in one process.
SPREAD := --dist loadfile --no-loadscope-reorder

# Let Python write its caches; otherwise every start compiles everything again.
export PYTHONDONTWRITEBYTECODE :=

# Where uv keeps what it downloads: as usual, or here if that folder cannot be written.
UV_CACHE_DIR ?= $(shell folder="$${XDG_CACHE_HOME:-$$HOME/.cache}/uv"; mkdir -p "$$folder" 2> /dev/null && test -w "$$folder" && echo "$$folder" || echo var/cache/uv)
export UV_CACHE_DIR

# A certificate of your own, as of a proxy that inspects TLS: uv reads SSL_CERT_FILE, the others have names of their own.
ifdef SSL_CERT_FILE
export PIP_CERT ?= $(SSL_CERT_FILE)
export NODE_EXTRA_CA_CERTS ?= $(SSL_CERT_FILE)
endif

.DEFAULT_GOAL := help
.PHONY: help up up-google down test nightly nightly-tests test-postgres quick collect durations fuzz mutants trial-tenancy trial-erasure trial-oidc lint quick-lint browser mypy pytest fmt messages screenshots bench bench-full chaos ha machines load audit lock install

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9.%-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: .venv/runtime ## Install and start everything, and print the address and the demo logins; Ctrl-C stops it (PORT=, KILIT_VAR=)
	@$(BIN)/python manage.py up

up-google: .venv/runtime ## The same, with simulated Google servers for the demo sites that upload
	@$(BIN)/python -m simulators.google

down: ## Stop everything `make up` started, including the embedded PostgreSQL
	@test ! -e .venv/runtime || $(BIN)/python manage.py down

test: .venv/dev ## Check formatting, types and imports, and run all tests but those of `make nightly`
	@$(MAKE) --no-print-directory --jobs 2 collect quick-lint browser
	@# mypy uses one core for half a minute: it runs beside the tests, and prints what it finds as soon as it is done.
	@$(MAKE) --no-print-directory --jobs 2 mypy pytest

test-3.%: ## Run `make test` with another Python, in a copy under var: make test-3.12
	@mkdir -p var/python-3.$* && git ls-files -z | tar --create --null --files-from - | tar --extract --directory var/python-3.$*
	@$(MAKE) --no-print-directory --directory var/python-3.$* VERSIONS=3.$* FALLBACK=python3.$* test

browser: .venv/dev
	@$(BIN)/python manage.py browser

# Compiles all tests once, beside the linters; else each process of the run would. The run itself says what is wrong.
collect: .venv/dev
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null 2>&1 || true

pytest: .venv/dev
	@# Four on two cores: many tests wait for processes that they started.
	@$(BIN)/python -m pytest $(SPREAD) --numprocesses 4 -m 'not nightly' --durations 25

nightly: .venv/dev ## Run what takes hours: the tests left out of `make test`, many examples, storms, fail-overs, machines, mutants
	@$(BIN)/python manage.py browser
	@# Whatever fails, the rest is tried, too.
	@$(MAKE) --no-print-directory --keep-going nightly-tests fuzz chaos machines ha mutants

nightly-tests: .venv/dev
	@$(BIN)/python -m pytest $(SPREAD) --numprocesses 2 -m nightly --durations 25

test-postgres: .venv/dev ## Run all tests against another PostgreSQL (PG=15, or PG_BIN=/path/to/bin; TESTS="tests/kilit/lock …")
	@$(BIN)/python manage.py browser
	@PG_BIN="$(PG_BIN)" $(BIN)/python -m tests.support.private_server $(or $(PG),15) --numprocesses 3 $(SPREAD) $(TESTS)

quick: .venv/dev ## Run the test files that start no processes and take less than three seconds, in about two minutes
	@$(BIN)/python -m pytest $(SPREAD) --numprocesses 2 -m 'not processes and not slow and not nightly' \
		--short-files --hypothesis-profile=quick --ignore tests/processes --ignore tests/system/browser

durations: .venv/dev ## Run all tests and store how long each file takes, which orders `make test`
	@$(BIN)/python -m pytest $(SPREAD) --numprocesses 4 -m 'not nightly' --store-durations

fuzz: .venv/dev ## Run the property and schema tests with many more examples (EXAMPLES=500)
	@KILIT_SCHEMATHESIS_EXAMPLES=$(or $(EXAMPLES),100) $(BIN)/python -m pytest tests/kilit/api/test_schemathesis.py
	@EXAMPLES=$(or $(EXAMPLES),500) $(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz

trial-tenancy: .venv/dev ## Open every page and operation as everyone, and look for what is another site's (WRITE=1 stores the table of it)
	@$(BIN)/python -m tests.support.tenancy $(if $(WRITE),--write)

mutants: .venv/dev ## Remove each protection of docs/security.md once, in a copy, and see its tests fail (ONLY="name …")
	@$(BIN)/python -m tests.tools.mutants $(if $(ONLY),--only $(ONLY))

trial-erasure: .venv/dev ## Quote a person everywhere, forget the person, and search a dump of the database for what is left
	@$(BIN)/python -m tests.security.erasure_trial

trial-oidc: .venv/dev ## Start a web server whose login provider never answers, and see that the API is answered
	@$(BIN)/python -m tests.security.oidc_trial

lint: quick-lint mypy ## Run ruff, mypy, import-linter, deptry and djlint without changing files

quick-lint: .venv/dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/djlint --check --lint --quiet templates
	@$(BIN)/lint-imports
	@$(BIN)/deptry .

mypy: .venv/dev
	@$(BIN)/mypy

fmt: .venv/dev ## Format the code and apply automatic fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/djlint --reformat --quiet templates

messages: .venv/dev ## Extract strings for translation and compile the translations (needs GNU gettext)
	@$(BIN)/python manage.py makemessages --locale tr --no-wrap --no-location --no-obsolete --verbosity 0 \
		--ignore 'tests/*' --ignore 'var/*' --ignore '.venv/*' --ignore 'templates/pdf/*'
	@$(BIN)/python manage.py compilemessages --locale tr --verbosity 0 --ignore '.venv'

screenshots: .venv/dev ## Retake the screenshots in docs/images from demo data
	@$(BIN)/python -m tests.system.browser.screenshots
	@$(BIN)/python -m tests.tools.watch_picture

bench: .venv/dev ## Run the benchmarks against peers and limits, about ten minutes (ONLY="name …")
	@$(BIN)/python -m tests.tools.benchmarks $(if $(ONLY),--only $(ONLY))

bench-full: .venv/dev ## Run the benchmarks with ten million rows and longer runs
	@$(BIN)/python -m tests.tools.benchmarks --full $(if $(ONLY),--only $(ONLY))

chaos: .venv/dev ## Kill and disturb real processes for 100 seconds, then check every guarantee (SEED= repeats a run, SEEDS="1 2 3", SECONDS=)
	@$(BIN)/python -m tests.system.chaos $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(WITHOUT),--without $(WITHOUT))

ha: .venv/dev ## Fail over a PostgreSQL cluster ten times under load, then check every guarantee (SEED=, ROUNDS=; Debian, about 12 minutes)
	@$(BIN)/python -m tests.system.ha $(if $(SEED),--seed $(SEED)) $(if $(ROUNDS),--rounds $(ROUNDS))

machines: .venv/dev ## Cut a worker, a runner and the web server off from the database, with clocks an hour off, then check every guarantee (SEED=, SECONDS=, LOOPBACK=1)
	@$(BIN)/python -m tests.system.machines $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(LOOPBACK),--loopback)

load: .venv/dev ## Load test: 200 clients on all endpoints for two minutes; no 5xx, no lost row, stable memory
	@$(BIN)/python -m tests.system.chaos.load

# uv reads no list of pins, so they become a script's dependencies. What does not concern us: AUDIT="--ignore CVE-…".
audit: $(BIN)/uv ## Look up the known vulnerabilities of all pinned packages at osv.dev (AUDIT="--service-url …" for a mirror)
	@mkdir -p var
	@{ printf '# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n'; \
		sed -nE 's/^([^ ]+==[^ ]+( ; [^\\]*)?) \\$$/#   "\1",/p' requirements.txt; printf '# ]\n# ///\n'; } > var/audit.py
	@$(BIN)/uv audit --preview-features audit-command --script var/audit.py $(AUDIT)

lock: $(BIN)/uv ## Pin the packages of all extras with hashes, from pyproject.toml (UPGRADE=1 takes the newest releases)
	@$(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --python-version 3.11 --all-extras $(if $(UPGRADE),--upgrade) --output-file requirements.txt

# uv installs in seconds what takes pip a minute.
$(BIN)/uv:
	@$(python) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kilit needs Python 3.11 or newer: make PYTHON=python3.13 up")'
	@$(python) -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("ensurepip") and "Kilit needs the venv module of Python with ensurepip; on Debian: apt install python3-venv")'
	@$(python) -c 'import sys; print(f"Creating .venv with Python {sys.version.split()[0]} ({sys.executable}) …")'
	@$(python) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir uv==$(UV_VERSION)
	@# Python brings an old pip, and before 3.12 an old setuptools, with known vulnerabilities; uv does their work.
	@$(BIN)/uv pip uninstall --quiet --python $(BIN)/python pip setuptools || { rm $@; false; }

install: $(BIN)/uv ## Install the packages of the extras that a server needs (EXTRAS="server s3"; docs/deployment.md)
	@$(INSTALL) $(EXTRAS:%=--extra %)
	@touch .venv/runtime

# A stamp newer than its lock file means that everything is installed already.
.venv/runtime: requirements.txt | $(BIN)/uv
	@echo "Installing the packages; this takes up to a minute …"
	@$(MAKE) --no-print-directory install

.venv/dev: requirements.txt | $(BIN)/uv
	@$(INSTALL) --all-extras
	@# Compile on all cores now, rather than in the first of the hundreds of processes that tests start.
	@$(BIN)/python -m compileall -q -j 0 -x 'google/ads|/(moto|sympy|mpmath|networkx|phonenumbers|cfnlint|pip|setuptools|mypy|mypyc|fontTools|weasyprint|lexers|examples)/' .venv/lib || true
	@touch $@ .venv/runtime
