"""A real browser, found on this machine, and the machines to look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from view.support import Tab, motion_of

from kompono import Result
from kompono.scene import Scene

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",  # WebGL by the processor
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
SIZE = {"width": 900, "height": 560}


@pytest.fixture(params=["car", "engine", "kuka"])
def machine(request: pytest.FixtureRequest) -> tuple[str, Scene, Result]:
    return (request.param, *motion_of(request.param))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    given = os.environ.get("KOMPONO_BROWSER")
    found = given or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no browser: `make browser` installs Chromium, or set KOMPONO_BROWSER to one")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    page = browser.new_page(viewport=SIZE)
    yield Tab(page)
    page.close()
