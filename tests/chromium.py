"""One Chromium for tests: the system's own, talking to nobody but the desk."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start it; skips the test where there is none, except in CI.

    Not pytest-playwright's fixture: that one keeps its event loop running in this thread for all
    later tests, and neither Django nor asynchronous tests can do with that.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None and not os.environ.get("CI"):
        pytest.skip("chromium is not installed")
    assert path is not None, "chromium is missing"
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Django would take that loop for an asynchronous caller
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
