# make run    simulate the car: summary on the terminal, curves and data in build/
# make test   lint, format, types, import contracts, tests
# make bench  timings (see benchmarks/)
# make clean  remove everything made here, .venv included

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test bench clean

run: $(VENV)/.ready-run
	$(BIN)/kompono run examples/car.py \
	    --channels 'body.position.z' --channels '*_wheel.ring.position.z' --channels 'body.acceleration.z' \
	    --channels 'left_wheel.ring.acceleration.z' --channels 'energy.*' --channels 'drift.*' \
	    --csv build/car.csv --plot build/car.png

test: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto -q

bench: $(VENV)/.ready-test
	@for file in benchmarks/*.py; do echo "$$file"; $(BIN)/python "$$file" || exit 1; done

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of dependencies; each is renewed when pyproject.toml changes.
$(VENV)/.ready-run: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[plot,progress]'
	touch $@

$(VENV)/.ready-test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.ready-run
