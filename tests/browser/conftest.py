from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, expect, sync_playwright
from playwright.sync_api import Page as Tab

from tests.browser.chromium import CHROMIUM, DESKTOP

expect.set_options(timeout=30_000)  # also where the machine has other things to do: milliseconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def only_tab(browser: Browser) -> Tab:
    """Opening a tab takes Chromium longer than most pages."""
    return browser.new_page()


@pytest.fixture
def tab(only_tab: Tab) -> Iterator[Tab]:
    """An empty tab of a desktop, logged in nowhere, that has the test fail for whatever the console complains of."""
    complaints: list[str] = []

    def visible_to(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{only_tab.url}: {message.text}")

    def failed(error: Error) -> None:
        complaints.append(f"{only_tab.url}: {error}")

    def asked(dialog: Dialog) -> None:
        complaints.append(f"{only_tab.url}: a dialog, {dialog.message}")
        dialog.dismiss()

    listeners: dict[Any, Any] = {"console": visible_to, "pageerror": failed, "dialog": asked}
    for event, listener in listeners.items():
        only_tab.on(event, listener)
    only_tab.set_viewport_size(DESKTOP)
    only_tab.emulate_media(color_scheme="light")
    only_tab.context.clear_cookies()
    yield only_tab
    only_tab.goto("about:blank")
    for event, listener in listeners.items():
        only_tab.remove_listener(event, listener)
    assert complaints == []
