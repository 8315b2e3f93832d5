# Needs git, make and Python 3.11 or newer; everything else goes into $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OLD := $(VENV)-oldest
PIP := -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
# Only this project's plugins, whatever else the environment holds.
PYTEST := $(BIN)/python -m pytest

.PHONY: system bench conformance test test-runtimes test-oldest lint types style wheel bench-harness bench-reports same-reports gate-power skill-power test-browser kill-test soak test-cluster test-docker parity hostile clean

bench: $(VENV)/.installed  ## a real scoreboard, from a scripted model
	$(PYTEST) scenarios --runtime=minimal --model=scripted-demo --trials=3 --gate=none -n $(WORKERS) -q --tb=no -rE

test: $(VENV)/.installed system  ## every test
	$(PYTEST) tests -n $(WORKERS) -q

test-oldest: $(OLD)/.installed  ## the whole-run tests on the oldest supported pytest
	$(OLD)/bin/python -m pytest -n $(WORKERS) -q tests/test_inactive.py tests/test_collect.py tests/test_options.py tests/test_run.py tests/test_resume.py tests/test_python_scenarios.py

lint: $(VENV)/.installed  ## proof that each shipped scenario measures something
	$(BIN)/agentbench lint scenarios

types: $(VENV)/.installed
	$(BIN)/mypy

style: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

wheel: $(VENV)/.installed  ## the built wheel works without the checkout
	rm -rf build/wheel && $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python $(PIP) build/wheel/*.whl
	cp -r scenarios checkers build/wheel/ && touch build/wheel/pyproject.toml
	cd build/wheel && venv/bin/python -c 'from pytest_agentbench.seeds import seeds; assert all(map(seeds, ("skill-creator", "irrelevant", "empty")))'
	cd build/wheel && venv/bin/python -m pytest scenarios --runtime=oracle --run-dir=run -q -p no:cacheprovider
	cd build/wheel && venv/bin/python -m pytest --pyargs pytest_agentbench.conformance --runtime=minimal -k "trace or identity" -q -p no:cacheprovider

bench-harness: $(VENV)/.installed  ## what the harness itself costs, in CPU seconds
	$(BIN)/python benchmarks/overhead.py

gate-power: $(VENV)/.installed  ## how often the gate is wrong, and what it can see
	$(BIN)/python benchmarks/gate_power.py --jobs $(WORKERS)

skill-power: $(VENV)/.installed  ## how often reports say that a skill's content helped
	$(BIN)/python benchmarks/skill_power.py

kill-test: $(VENV)/.installed  ## kill -9 of pytest and of workers at random instants
	$(PYTEST) tests/test_kill.py -q --kills=15

test-browser: $(VENV)/.installed  ## report.html in headless Chromium, with axe
	tests/browser/run $(BIN)/python

bench-reports: $(VENV)/.installed  ## what reports of large runs cost, up to a million trials
	$(BIN)/python benchmarks/reports.py

# Other versions: make same-reports PYTHONS="python3.12 python3.13"
PYTHONS ?= python3
same-reports: $(VENV)/.installed  ## reports are the same bytes under other versions of Python
	for python in $(PYTHONS); do \
	  $$python -m venv "build/pythons/$$(basename $$python)" \
	  && "build/pythons/$$(basename $$python)/bin/python" $(PIP) '.[parquet]' || exit 1; done
	AGENTBENCH_PYTHONS="$$(printf '%s:' $(CURDIR)/build/pythons/*/bin/python)" \
	  $(PYTEST) tests/test_reports.py -q -k elsewhere

soak: $(VENV)/.installed system  ## 200 kills at random instants over 300 trials, and a full disk
	$(BIN)/python -m tests.soak

test-cluster: $(VENV)/.installed system  ## runs on two hosts over ssh, one of them cut off; needs root
	tests/cluster/run $(BIN)/python

test-docker: $(VENV)/.installed  ## the Docker sandbox, on an engine that this starts; needs root
	tests/docker/run $(BIN)/python

# Real runtimes, installed below build/ by the commands that people are told, about 2.5 GB.
RUNTIMES ?= codex claude-code nanobot openclaw
test-runtimes: export AGENTBENCH_RUNTIMES ?= $(CURDIR)/build/runtimes
test-runtimes: $(VENV)/.installed system  ## real runtimes against a scripted model
	@command -v npm >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; } || { \
	  echo "Node.js and npm are needed, for example: apt-get install nodejs npm" >&2; exit 1; }
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.runtimes.install $(RUNTIMES)
	$(PYTEST) tests/runtimes -q

conformance: $(VENV)/.installed system  ## the contract of adapters, on every runtime that is installed
	for name in $$($(BIN)/agentbench conformance installed); do \
	  $(PYTEST) --pyargs pytest_agentbench.conformance --runtime=$$name \
	    --conformance-report=reports/conformance -n $(WORKERS) -q; \
	  case $$? in 0|1) ;; *) exit 1 ;; esac; done
	$(BIN)/agentbench conformance table reports/conformance --into docs/runtimes.md

# Checkouts of the published suites, and the folder of vectors that their own harnesses made.
parity: $(VENV)/.installed system  ## the published suites grade as they do under their own harnesses
	@test -n "$(CLAWPRO)$(EVOCLAW)" || { \
	  echo "name checkouts: make parity EVOCLAW=PATH CLAWPRO=PATH VECTORS=PATH" >&2; exit 2; }
	$(BIN)/python $(PIP) openpyxl python-docx
	test -z "$(CLAWPRO)" || $(BIN)/python -m tests.parity.clawpro "$(CLAWPRO)" "$(VECTORS)"
	test -z "$(EVOCLAW)" || $(BIN)/python -m tests.parity.evoclaw "$(EVOCLAW)"
	test -z "$(EVOCLAW)" || $(BIN)/python -m tests.parity.skill_metrics "$(EVOCLAW)"
	$(BIN)/python -m tests.parity.defects "$(CLAWPRO)" "$(VECTORS)" "$(EVOCLAW)"

hostile: $(VENV)/.installed system  ## what hostile agents get away with in each sandbox, as a table
	$(BIN)/python -m tests.hostile.table

# What the tests of the sandboxes need of the system.
system:
	@command -v bwrap >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; } || { \
	  echo "bubblewrap is needed, for example: apt-get install bubblewrap" >&2; exit 1; }

clean:
	rm -rf $(VENV) $(OLD) build dist .pytest_cache .mypy_cache .ruff_cache

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -e '.[dev]'
	@touch $@

$(OLD)/.installed: pyproject.toml
	$(PYTHON) -m venv $(OLD)
	$(OLD)/bin/python $(PIP) -e . pytest==8.2.0 pytest-xdist==3.6.1 pytest-timeout==2.3.1 hypothesis
	@touch $@
