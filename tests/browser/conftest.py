from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, sync_playwright
from playwright.sync_api import Page as Tab

from tests.browser.chromium import CHROMIUM

DESKTOP = {"width": 1440, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A tab that has the test fail for whatever the console complains of."""
    complaints: list[str] = []

    def visible_to(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{opened.url}: {message.text}")

    def asked(dialog: Dialog) -> None:
        complaints.append(f"{opened.url}: a dialog, {dialog.message}")
        dialog.dismiss()

    opened = browser.new_page(viewport=DESKTOP)  # type: ignore[arg-type]
    opened.on("console", visible_to)
    opened.on("pageerror", lambda error: complaints.append(f"{opened.url}: {error}"))
    opened.on("dialog", asked)
    yield opened
    opened.close()
    assert complaints == []
