# make run    simulate the car: summary here, the machine moving on a page, curves and data in build/
# make check  lint, format, types, import contracts, the tests of what was changed: under 90 s
# make test   the same with all tests, and which took longest
# make laws   all tests, with long sweeps and more random machines: an hour or two
# make docs   the documentation site: build/site/index.html
# make bench  Kompono and its peers (MuJoCo, Pinocchio, Drake, Exudyn) on the same machines: benchmarks/results.md;
#             time to the first step: benchmarks/history.jsonl
# make bench-internal  timings and costs of Kompono alone: benchmarks/results-internal.md
# make browser  Chromium for the tests of the viewer, if none is here (Debian and Ubuntu, as root)
# make clean  remove everything made here, .venv included

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run check lint test laws docs bench bench-internal browser clean

run: $(VENV)/.ready-run
	$(BIN)/kompono demo car --out build/car.html --csv build/car.csv --plot build/car.png

# Tests of one file stay on one processor, where they share translated models. Bytecode is kept, whatever the
# environment says: hundreds of processes are started, and each would compile the package again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder -q

check: lint
	$(PYTEST) --durations=5 --changed --seconds 40

test: lint
	$(PYTEST) --durations=15

laws: lint
	KOMPONO_LAWS=1 $(PYTEST) --durations=15

lint: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

docs: $(VENV)/.ready-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html (search works when served: python -m http.server -d build/site)"

bench: $(VENV)/.ready-bench
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/first_step.py

bench-internal: $(VENV)/.ready-test
	@for file in $(filter-out benchmarks/compare.py benchmarks/first_step.py benchmarks/tables.py,$(wildcard benchmarks/*.py)); do \
	    echo "$$file"; $(BIN)/python "$$file" || exit 1; done

browser:
	@for name in $$KOMPONO_BROWSER chromium chromium-browser google-chrome google-chrome-stable; do \
	    command -v "$$name" >/dev/null && exit 0; \
	done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; \
	else \
	    echo "install Chromium, or set KOMPONO_BROWSER to a browser of its kind"; exit 1; \
	fi

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of dependencies; each is renewed when pyproject.toml changes. The first has what the README uses.
$(VENV)/.ready-run: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[plot,animate,hdf5,progress]'
	touch $@

$(VENV)/.ready-test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.ready-run

# A peer without a package for this computer is left out of the comparison.
$(VENV)/.ready-bench: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[bench]' || { $(PIP) --editable '.[plot]'; \
	    for peer in mujoco pin drake exudyn; do $(PIP) $$peer || echo "no $$peer"; done; }
	touch $@
