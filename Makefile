PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test prove lint docs bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

$(READY): pyproject.toml setup.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

# explore exits with 1 when it found a race, which is what the first program is there for
demo: $(READY) ## a race found, its repair explored, and a sparse product compared with SciPy's
	@echo '$$ wingspan explore examples/dependent.ws'
	@$(BIN)/wingspan explore examples/dependent.ws; test $$? -eq 1
	@echo; echo '$$ wingspan explore examples/dependent_atomic.ws'
	@$(BIN)/wingspan explore examples/dependent_atomic.ws
	@echo; echo '$$ wingspan run examples/karate.ws'
	@$(BIN)/wingspan run examples/karate.ws | head -8; echo '…'
	@echo; echo '$$ python examples/karate_check.py'
	@$(BIN)/python examples/karate_check.py

test: $(READY) ## run all tests and doctests
	$(BIN)/python -m pytest

prove: $(READY) ## run the tests with ten times as many random programs, formats and inputs
	WINGSPAN_PROVE=10 $(BIN)/python -m pytest proofs_tests

lint: $(READY) ## ruff, its formatter and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY) ## write docs/rules.md anew from the docstrings of the rules
	$(BIN)/python -m wingspan.semantics.rules > docs/rules.md.new && mv docs/rules.md.new docs/rules.md

bench: $(READY) ## run every script in bench/
	@set -e; for script in $(sort $(wildcard bench/*.py)); do echo "\$$ python $$script"; $(BIN)/python $$script; done

clean: ## remove .venv, builds and caches
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
