"""What every test may ask for: a browser, and to be left out where there is no network.

What stands in for the network and the disk is in `simulators.py`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# No sandbox, because root has none; no request that no page asked for.
_BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# How long one example takes says more about the machine's other work than about the code. In CI, hypothesis
# has a profile of its own, without deadline or chance.
hypothesis.settings.register_profile("unhurried", deadline=None)
if not os.environ.get("CI"):
    hypothesis.settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one option: tests that reach beyond this machine run only when asked for."""
    parser.addoption("--network", action="store_true", help="run the tests that reach beyond this machine, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what asks for a browser, and skip what needs the network unless it was asked for."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
        if item.get_closest_marker("network") and not config.getoption("--network"):
            item.add_marker(pytest.mark.skip(reason="reaches beyond this machine: run with --network"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: the one on the PATH, else Playwright's own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, _BROWSERS)), playwright.chromium.executable_path)
        if not Path(found).exists():
            missing = f"expected {' or '.join(_BROWSERS)} on the PATH, found none: `make test` installs one"
            if os.environ.get("CI"):
                pytest.fail(missing, pytrace=False)
            pytest.skip(missing)
        opened = playwright.chromium.launch(executable_path=found, args=_BROWSER_FLAGS)
        yield opened
        opened.close()
