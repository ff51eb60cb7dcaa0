PYTHON ?= python3
BIN := .venv/bin
# The tests start hundreds of processes, each of which would compile every module that it imports.
export PYTHONDONTWRITEBYTECODE :=
INSTALLED := .venv/.installed
READY := .venv/.ready
SOURCES := pyproject.toml setup.py $(wildcard wingspan/*/*.pyx wingspan/*/*/*.pyx wingspan/*/*.pxd wingspan/explorer/*.h wingspan/runtime/*.h wingspan/native/*.h wingspan/tensors/*.h)

.DEFAULT_GOAL := help
.PHONY: help demo test test-deep test-browser prove prove-theorem fuzz mutants tsan asan leaks lint docs pages notebooks site links bench bench-kernels bench-explore clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

# an extra is installed by name, for what is installed already: as '.[dev]', wingspan would be compiled again
$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'wingspan[dev]'
	@touch $@

$(INSTALLED): $(SOURCES)
	@echo 'Setting up .venv, once: wingspan is compiled, and what it needs is installed.'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -e .
	@touch $@

# explore exits with 1 when it found a race, which is what the first program is there for
demo: $(INSTALLED) ## a race found, its repair explored, and a sparse product compared with SciPy's
	@echo '$$ wingspan explore examples/sum.ws'
	@$(BIN)/wingspan explore examples/sum.ws; test $$? -eq 1
	@echo; echo '$$ wingspan explore examples/sum_atomic.ws'
	@$(BIN)/wingspan explore examples/sum_atomic.ws
	@echo; echo '$$ wingspan run examples/karate.ws --engine semantics'
	@$(BIN)/wingspan run examples/karate.ws --engine semantics | head -8; echo '…'
	@echo; echo '$$ wingspan diff examples/karate.ws'
	@$(BIN)/wingspan diff examples/karate.ws
	@echo; echo '$$ python examples/karate_check.py'
	@$(BIN)/python examples/karate_check.py

test: $(READY) ## run the tests and doctests, on all cores: EFFORT=1/64 of long campaigns, and PART=1/12 of the deep tests
	WINGSPAN_EFFORT=$(or $(EFFORT),1/64) WINGSPAN_PART=$(or $(PART),0) $(BIN)/python -m pytest -n auto --dist worksteal -m 'not browser'

test-deep: $(READY) ## run the long campaigns, whole, or EFFORT=1/2 of each, and PART=1/2 of the deep tests
	WINGSPAN_EFFORT=$(or $(EFFORT),1) WINGSPAN_PART=$(or $(PART),1) $(BIN)/python -m pytest -n auto --dist worksteal -m 'deep or many'

test-browser: $(READY) ## look at pages in chromium and firefox: as root it installs them, else it skips what is not there
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'wingspan[browser]'
	@for each in chromium firefox-esr; do command -v $$each > /dev/null || missing="$$missing $$each"; done; \
	if [ -n "$$missing" ]; then (apt-get update -q && apt-get install -y -q --no-install-recommends $$missing) > /dev/null || \
	echo "skipping$$missing, which could not be installed: as root, apt-get install$$missing"; fi
	$(BIN)/python -m pytest -n auto --dist worksteal -m browser proofs_tests/browser

prove: $(READY) ## all programs of small scope, 100,000 random ones through all engines, ten times as many in the tests
	$(BIN)/python bench/theory.py --scope full
	$(BIN)/python bench/theory.py --scope levels
	$(BIN)/python bench/campaign.py --programs 100000
	WINGSPAN_EFFORT=10 $(BIN)/python -m pytest -n auto --dist worksteal -m 'deep or many' --timeout 0

prove-theorem: $(READY) ## prove by z3 that what the level dependence test accepts does not race
	$(BIN)/wingspan prove

fuzz: $(READY) ## run each reader for SECONDS=60 on inputs that are changed to reach new code; it goes on where it was
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'wingspan[fuzz]'
	$(BIN)/python bench/fuzz.py --seconds $(or $(SECONDS),60)

mutants: $(READY) ## seed defects, one at a time, and show which test finds each
	$(BIN)/python bench/mutants.py

tsan: $(READY) ## programs on threads, as C, and searched by threads, under ThreadSanitizer: safe ones race nowhere, racy ones where explore says so
	WINGSPAN_TSAN=1 $(BIN)/python setup.py --quiet build --build-base build/tsan --build-lib build/tsan/lib
	$(BIN)/python -m proofs_tests.sanitized tsan build/tsan/lib
	$(BIN)/python -m proofs_tests.sanitized_c tsan

asan: $(READY) ## the same under AddressSanitizer and UBSan, with spoiled inputs, and with memory and threads refused in turn
	WINGSPAN_ASAN=1 $(BIN)/python setup.py --quiet build --build-base build/asan --build-lib build/asan/lib
	$(BIN)/python -m proofs_tests.sanitized asan build/asan/lib
	$(BIN)/python -m proofs_tests.sanitized_c asan

leaks: $(READY) ## the same under Valgrind: no memory of the engine's is lost
	$(BIN)/python -m proofs_tests.sanitized leaks .

lint: $(READY) ## ruff, its formatter, mypy --strict, and whether each mutant applies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python bench/mutants.py --check

docs: pages site ## write anew what is made by scripts, and build the site into build/site

pages: $(READY) ## write docs/rules.md, the grammar of editors, tables of other pages, the manual page, pictures
	$(BIN)/python -m wingspan.semantics.rules > docs/rules.md.new && mv docs/rules.md.new docs/rules.md
	$(BIN)/python -m wingspan.views.highlighting > grammar.new && mv grammar.new editors/vscode/syntaxes/wingspan.tmLanguage.json
	$(BIN)/python -m proofs_tests.levels_page
	$(BIN)/python -m proofs_tests.examples_page
	$(BIN)/python -m proofs_tests.man_page
	$(BIN)/python -m proofs_tests.synopsis
	$(BIN)/python -m proofs_tests.theory_page
	$(BIN)/python -m proofs_tests.pictures

notebooks: $(READY) ## write the lessons as notebooks, already run, into build/lessons
	$(BIN)/python -m proofs_tests.lessons build/lessons

site: $(READY) ## build the documentation site into build/site; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . build/site
	@echo 'open build/site/index.html'

links: site ## follow the links of the site to other sites, which needs the network
	$(BIN)/python -m sphinx -q -b linkcheck -c docs . build/links

bench: $(READY) ## measure rule steps, the native engine, differential testing; the dependence tests on a small scope
	$(BIN)/python bench/steps.py
	$(BIN)/python bench/native.py
	$(BIN)/python bench/differential.py
	$(BIN)/python bench/theory.py

bench-kernels: $(READY) ## measure kernels on matrices and tensors in FOLDER beside other libraries, and write docs/performance.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'wingspan[peers]'
	$(BIN)/python bench/calls.py --keep
	$(BIN)/python bench/kernels.py $(FOLDER)
	$(BIN)/python bench/scaling.py
	$(BIN)/python bench/handover.py $(FOLDER)
	$(BIN)/python bench/performance.py

bench-explore: $(READY) ## measure the strategies of the explorer on tiny programs, beside SPIN if it is there; several processes; symmetry
	$(BIN)/python bench/explore.py
	$(BIN)/python bench/jobs.py
	$(BIN)/python bench/symmetry.py
	$(BIN)/python bench/local_steps.py
	$(BIN)/python bench/pages.py

clean: ## remove .venv, builds and caches
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
