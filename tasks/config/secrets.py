"""Masks secrets in settings that are shown or stored."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr

_MASK = "***"
_OPTIONS = re.compile(r"(?<=[?#]).+", re.DOTALL)
_WEB_URL = re.compile(r"https?://[^/\s]")
_SECRET_OPTION = re.compile(r"[?&#][^=&]*(?:passw|pwd|key|token|secret|sig)[^=&]*=[^&]", re.IGNORECASE)
_PLACE = re.compile(r"[\w.-]*(:[0-9]+)?(/[\w./-]*)?")


def shown_url(url: str) -> str:
    """A URL for display: `***` replaces its password, its options, and any text that is no URL and may contain either.

    A URL without them is unchanged. In a web URL a user without a password may be a token and is masked, too.
    """
    scheme, sign, rest = url.partition("://")
    if not sign:
        return url if _PLACE.fullmatch(url) else _MASK
    user, at, place = _user_and_place(rest)
    name, has_password, _ = user.partition(":")
    if has_password:
        user = f"{name}:{_MASK}"
    elif at and scheme.lower() in ("http", "https"):
        user = _MASK
    return f"{scheme}://{user}{at}{_OPTIONS.sub(_MASK, place)}"


def holds_secret(url: str) -> bool:
    """Whether a URL has a password, or an option that is one by its name; False for text that is no URL."""
    _, sign, rest = url.partition("://")
    user, _, place = _user_and_place(rest)
    return bool(sign) and (":" in user or bool(_SECRET_OPTION.search(place)))


def _user_and_place(rest: str) -> tuple[str, str, str]:
    """What follows `://`, split at the last `@`: a password may contain any character."""
    return ("", "", rest) if rest.startswith("/") else rest.rpartition("@")


Url = Annotated[str, Field(repr=False), PlainSerializer(shown_url, when_used="json")]
"""A URL that may contain a password. Its JSON form is masked, because Prefect stores the settings of its runs."""


def _can_be_shown(url: str) -> str:
    if shown_url(url) != url:
        raise ValueError("every message shows it: give a URL without a user, a password and options")
    if url and not _WEB_URL.match(url):
        raise ValueError("messages lead there: give a URL that begins with https:// or http://")
    return url


MessageUrl = Annotated[str, AfterValidator(_can_be_shown)]
"""A URL used in messages: one that may contain a secret is refused."""


def is_masked(value: Any) -> bool:
    """Whether a value is a masked secret: a URL as above, or a key as Pydantic writes it to JSON."""
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    return isinstance(plain, str) and _MASK in plain


def part_of(tree: Mapping[str, Any], *, masked: bool) -> dict[str, Any]:
    """The masked settings of a tree, or the others."""
    return {
        name: part_of(value, masked=masked) if isinstance(value, Mapping) else value
        for name, value in tree.items()
        if isinstance(value, Mapping) or is_masked(value) is masked
    }
