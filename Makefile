# make site           the environment, the sources that can be had, the gates, then dist/
# make test           the checks, then every test
# make check          format, lint and strict types
# make serve          a preview that reloads
# make bench          a corpus of N guides built here and by Hugo, if there is one (make bench N=1000)
# make requirements   pin requirements/*.in again (UPGRADE=--upgrade takes newer releases)
# make clean          removes what was built, never .store or .venv
#
# Needs make and Python 3.11 or newer (make PYTHON=python3.12 names another one).

PYTHON = python3
VENV = .venv
RUN = $(VENV)/bin/python

.DEFAULT_GOAL := site
.PHONY: site test check serve bench requirements clean python environment test-environment browser

# Only what a digest names is installed, and nothing is compiled here. The index is wherever pip's own configuration says;
# its constraints and its other folders may be there, and change nothing.
PIP_INSTALL = PIP_CONSTRAINT=/dev/null PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(RUN) -m pip install -qq --require-hashes --no-deps --only-binary=:all:

site: environment
	@code=0; $(RUN) build.py fetch || code=$$?; \
	if [ $$code -eq 3 ]; then echo "fetch: not every source could be reached; going on with what is recorded"; \
	else exit $$code; fi
	@$(RUN) build.py build

test: check browser
	@$(RUN) -m pytest -q -n 2

check: test-environment
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy

serve: environment
	@$(RUN) build.py serve

N = 100
bench: environment
	@$(RUN) benchmarks/run.py -n $(N)

clean:
	rm -rf dist .dist-* .build .mypy_cache .pytest_cache .ruff_cache .hypothesis

python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "Python: expected 3.11 or newer, found no $(PYTHON): install it, or name one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python: expected 3.11 or newer, found $$($(PYTHON) --version 2>&1): name a newer one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "Python: expected the modules venv and ensurepip, found none: install them (Debian's package is python3-venv)" >&2; exit 1; }

# The copy beside the environment says which requirements are installed in it: other ones start it afresh, equal ones cost
# nothing. An environment whose Python is gone is no environment.
environment: python
	@cmp -s requirements/site.txt $(VENV)/installed-site.txt && $(RUN) -c '' 2>/dev/null || { \
		echo "installing requirements/site.txt into $(VENV)" && \
		rm -rf $(VENV) && $(PYTHON) -m venv $(VENV) && \
		$(PIP_INSTALL) -r requirements/site.txt && \
		cp requirements/site.txt $(VENV)/installed-site.txt; }

test-environment: environment
	@cmp -s requirements/test.txt $(VENV)/installed-test.txt || { \
		echo "installing requirements/test.txt into $(VENV)" && \
		$(PIP_INSTALL) -r requirements/test.txt && \
		cp requirements/test.txt $(VENV)/installed-test.txt; }

# A browser that is there, else the system's, else Playwright's. Without one, the tests say what that means.
browser: test-environment
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
		[ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null && \
		echo "browser: none found; installing the package chromium" && \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 \
			install -y --no-install-recommends chromium fonts-liberation </dev/null >/dev/null && \
		command -v chromium; } || \
	$(RUN) -m playwright install chromium >/dev/null 2>&1 || \
	echo "browser: none found and none could be installed; put chromium on the PATH to run the tests that open pages"

# uv resolves for every platform at once and writes no index into its answer. It stands in a folder of its own, because
# nothing else needs it. It doesn't read pip's configuration: where the index is elsewhere, set UV_DEFAULT_INDEX.
UV = .build/uv/bin/python -m uv pip compile --quiet $(UPGRADE) --generate-hashes --no-emit-index-url --universal \
	--python-version 3.11 --custom-compile-command "make requirements"

requirements: python
	@test -x .build/uv/bin/uv || { $(PYTHON) -m venv .build/uv && PIP_CONSTRAINT=/dev/null .build/uv/bin/python -m pip install -qq uv; }
	@$(UV) requirements/site.in -o requirements/site.txt
	@$(UV) requirements/test.in -o requirements/test.txt -c requirements/site.txt
