# The commands of the project. `make` alone lists them.

VENV := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
# One environment, two stamps: running the site must not install the tools of its tests.
SITE := $(VENV)/site.installed
TOOLS := $(VENV)/tools.installed

.DEFAULT_GOAL := help
.PHONY: help run demo test bench soak lint messages check-messages clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 18

run: $(SITE) ## start the site with a demo (DEMO=0: empty, PORT=8001: another port)
	@exec $(PYTHON_IN_VENV) -m naiply.development

demo: $(SITE) ## load the demo anew
	@exec $(PYTHON_IN_VENV) manage.py load_demo --reset

test: $(TOOLS) ## run the tests (ARGS="-k standings": some of them)
	@$(PYTHON_IN_VENV) -m pytest -n 2 $(ARGS)

bench: $(TOOLS) ## run the benchmarks
	@exec $(PYTHON_IN_VENV) -m tests.bench $(ARGS)

soak: $(TOOLS) ## treat histories at random for long (ARGS="--steps 20000 --seed 7", ARGS=--drill)
	@exec $(PYTHON_IN_VENV) -m tests.simulator $(ARGS)

lint: $(TOOLS) ## check style, types, templates, migrations and the production settings
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/djlint --lint --quiet templates
	@$(PYTHON_IN_VENV) manage.py makemigrations --check --dry-run
	@$(PYTHON_IN_VENV) -m tests.production_check

messages: $(TOOLS) ## bring the translation files up to date with the source
	@$(PYTHON_IN_VENV) -m naiply.messages update

check-messages: $(TOOLS) ## say what the translations lack
	@$(PYTHON_IN_VENV) -m naiply.messages check

clean: ## remove everything the commands made, the demo's database included
	@if [ -e $(SITE) ]; then $(PYTHON_IN_VENV) -m naiply.embedded; fi
	@rm -rf $(VENV) .local .pytest_cache .ruff_cache .mypy_cache .hypothesis test-results
	@find . -path ./.git -prune -o -name '*.mo' -exec rm -f {} +
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made: .ci/python
	@[ -w . ] || { echo "This folder is read-only: copy Naiply to one that you can write to." >&2; exit 1; }
	@python=$$(.ci/python) && echo "Making $(VENV) with $$python" && "$$python" -m venv --clear $(VENV)
	@touch $@

$(SITE): requirements.txt $(VENV)/made
	@echo "Installing requirements.txt (half a minute the first time)"
	@$(PYTHON_IN_VENV) -m pip install --disable-pip-version-check -r requirements.txt
	@touch $@

$(TOOLS): requirements-dev.txt $(SITE)
	@echo "Installing requirements-dev.txt (half a minute the first time)"
	@$(PYTHON_IN_VENV) -m pip install --disable-pip-version-check -r requirements-dev.txt
	@touch $@
