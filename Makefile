# Two commands on a fresh machine: `make lab` and `make test`. Each builds .venv once; later calls install nothing.
PYTHON ?= python3
# modules are compiled when first imported: compiling all of them takes a minute, and most are never used
PIP := .venv/bin/python -m pip --disable-pip-version-check install --no-compile --quiet --constraint constraints.txt
SETTINGS := pyproject.toml constraints.txt Makefile
# many tests start Python anew: without compiled modules each of them would read torch, scipy and this package as text
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab test test-slow check docs format bench clean

# larger data that the claims can use, where they lie beside the repository; without them the claims run on embedded data
DATA := $(if $(wildcard ../shared/data),--data ../shared/data)

lab: .venv/installed
	.venv/bin/ordinate lab --out report $(DATA)

# one worker a core, each with one thread of its own: two cores are then busy with tests and not with each other
test: .venv/installed-for-tests check
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --numprocesses auto --dist worksteal

# part by part, and what has passed is noted in build/slow: an interrupted run goes on with the part where it was, and after a
# change of any source all begin anew. `make -k test-slow` goes on past a part that fails, `make build/slow/cli` runs one
PARTS := $(patsubst tests/%/,build/slow/%,$(filter-out %/cases/ %/__pycache__/,$(wildcard tests/*/))) build/slow/package
test-slow: $(PARTS)
	@echo "slow tests passed: $(notdir $(PARTS))"

$(PARTS): .venv/installed-for-tests $(shell find src tests -name '*.py')
	@mkdir -p $(@D)
	@echo "slow tests of $(@F), one of $(notdir $(PARTS))"
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -m slow --timeout 1800 --durations 5 -o console_output_style=count \
		$(if $(filter package,$(@F)),tests/test_*.py,tests/$(@F)) || [ $$? = 5 ] # 5: there are none
	@touch $@

check: .venv/installed-for-tests
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

# the documentation site, with a warning an error; then its links, its search and that it fetches nothing
docs: .venv/installed-for-tests
	.venv/bin/python -m sphinx -q -W --keep-going -j auto -b html docs build/site
	ORDINATE_SITE=build/site .venv/bin/python -m pytest -q -m slow tests/test_site.py

bench: .venv/installed-for-tests
	for name in rotation decode bias_memory generation prefill relative_scores reservoir_steps reservoir_tasks logic_training logic_inference \
		sweep_step; do .venv/bin/python -W ignore bench/$$name.py || exit 1; done

format: .venv/installed-for-tests
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SETTINGS)
	$(PIP) torch==2.13.0
	$(PIP) --editable .
	touch $@

# timm and torchlogix go in without their dependencies: they ask for torchvision, which has no build for this torch
.venv/installed-for-tests: .venv/installed
	$(PIP) --editable '.[test,docs,oracles]'
	$(PIP) --no-deps timm torchlogix
	touch $@

clean:
	rm -rf .venv report build dist
