"""Authentication, roles and rate limits of people; sessions and form tokens of one process.

Sessions are kept in memory: they cannot be forged or stolen from a disk, and end with the process.
"""

import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from scoring.errors import UsageError
from tasks.config.secret_places import Secret, secret_of
from tasks.config.web import ROLES, Role, WebSettings

SHORTEST_TOKEN = 20
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_SESSIONS, _MOST_KEYS = 10_000, 10_000
_LOGINS_PER_MINUTE = 10
_MINUTE_S = 60.0

Clock = Callable[[], float]
"""Seconds that never run backwards."""

SecretOf = Callable[[str], Secret]
"""Gives the secret of a variable."""


@dataclass(frozen=True)
class Viewer:
    """An authenticated person: the name in the audit log, the role, and the session (empty without a login)."""

    name: str
    role: Role
    session: str = ""

    def may(self, role: Role) -> bool:
        """Whether the person has the permissions of this role."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Sessions:
    """The logged-in people by the random session id in the cookie."""

    def __init__(self, lasting_s: float, clock: Clock) -> None:
        self._lasting_s, self._clock = lasting_s, clock
        self._open: OrderedDict[str, tuple[float, Viewer]] = OrderedDict()

    def open(self, viewer: Viewer) -> Viewer:
        """The person with a new session; a session id sent by the client is never used."""
        known = Viewer(viewer.name, viewer.role, secrets.token_urlsafe(32))
        self._open[known.session] = (self._clock() + self._lasting_s, known)
        while len(self._open) > _MOST_SESSIONS:
            self._open.popitem(last=False)
        return known

    def viewer(self, session: str) -> Viewer | None:
        """The person of a session; None if it has ended or never existed."""
        until, viewer = self._open.get(session, (0.0, None))
        if viewer and until <= self._clock():
            self.close(session)
            return None
        return viewer

    def close(self, session: str) -> None:
        """Ends a session."""
        self._open.pop(session, None)


class RateLimit:
    """A maximum number of events a minute for each key."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._events: OrderedDict[str, deque[float]] = OrderedDict()

    def forgive(self, key: str) -> None:
        """Removes the last event."""
        if events := self._events.get(key):
            events.pop()

    def allows(self, key: str) -> bool:
        """Counts an event; False if it exceeds the limit."""
        now = self._clock()
        events = self._events.setdefault(key, deque(maxlen=self._per_minute))
        self._events.move_to_end(key)
        while len(self._events) > _MOST_KEYS:
            self._events.popitem(last=False)
        if len(events) == self._per_minute and now - events[0] < _MINUTE_S:
            return False
        events.append(now)
        return True


class Access:
    """Identifies people by their session, by the proxy's header, or, only on this machine, everybody as operator.

    Raises:
        UsageError: pages without `auth` would be open to other machines, or a token is not set, too short, a duplicate,
            or has blanks in it.
    """

    def __init__(self, settings: WebSettings, host: str, clock: Clock, secret: SecretOf = secret_of) -> None:
        if settings.auth == "none" and host not in LOOPBACK:
            raise UsageError(
                f"everybody who reaches {host} could read and change everything",
                where="--host",
                fix='keep to 127.0.0.1, or set web.auth = "token" or "proxy" (docs/how-to/web.md)',
            )
        self.settings = settings
        self._owners = _owners_of_tokens(settings, secret) if settings.auth == "token" else {}
        self.sessions = Sessions(settings.session_hours * 3600, clock)
        self.requests = RateLimit(settings.requests_per_minute, clock)
        self.logins = RateLimit(_LOGINS_PER_MINUTE, clock)
        names = (host, *settings.hosts, urlsplit(settings.url).hostname)
        self._hosts = LOOPBACK | {name.lower() for name in names if name}
        self._proxies = [ip_network(address) for address in settings.proxy_addresses]
        self._key = secrets.token_bytes(32)

    def knows_host(self, header: str) -> bool:
        """Whether a host name is one of the server's: a page under another name could read the response (DNS
        rebinding).
        """
        name, _, port = header.rpartition(":")
        if not port.isdigit() or header.endswith("]"):
            name = header
        return name.strip("[]").lower() in self._hosts

    def viewer(self, address: str, headers: Mapping[str, str], session: str) -> Viewer | None:
        """The person who sends a request, by IP address and headers (in small letters, each once); None if unknown."""
        match self.settings.auth:
            case "none":
                return Viewer("local", "operator")
            case "token":
                return self.sessions.viewer(session)
            case "proxy":
                return self._behind_proxy(address, headers.get(self.settings.proxy_user_header.lower(), ""))

    def owner(self, token: str) -> Viewer | None:
        """The owner of a token. Digests are compared, so that the time taken reveals nothing of a token."""
        return self._owners.get(_digest(token.strip()))

    def address_of(self, peer: str, headers: Mapping[str, str]) -> str:
        """The IP address of a request: the one in the header of a trusted proxy, else that of the `peer`."""
        told = headers.get(self.settings.proxy_address_header.lower(), "").strip()
        try:
            return str(ip_address(told)) if told and self._is_proxy(peer) else peer
        except ValueError:  # no address, as of a socket of this machine
            return peer

    def _is_proxy(self, peer: str) -> bool:
        return any(ip_address(peer) in network for network in self._proxies)

    def _behind_proxy(self, address: str, header: str) -> Viewer | None:
        # Google's proxy writes `accounts.google.com:kim@example.com`.
        name = header.rpartition(":")[2].strip()
        if not name or not self._is_proxy(address):
            return None
        roles: dict[str, Role] = {user.name: user.role for user in self.settings.users}
        role = roles.get(name, self.settings.other_role)
        return Viewer(name, role) if role else None

    def form_token(self, viewer: Viewer) -> str:
        """The token in every form of this person, which no other site can know (CSRF)."""
        return hmac.new(self._key, f"{viewer.session}\n{viewer.name}".encode(), sha256).hexdigest()

    def is_form_of(self, viewer: Viewer, token: str) -> bool:
        """Whether a form token was issued to this person by this process."""
        return hmac.compare_digest(self.form_token(viewer).encode(), token.encode())


def _owners_of_tokens(settings: WebSettings, secret: SecretOf) -> dict[bytes, Viewer]:
    """The users by the digests of their tokens, from the environment variables named in the settings."""
    owners: dict[bytes, Viewer] = {}
    for user in settings.users:
        found = secret(user.token_env)
        if len(found.value) < SHORTEST_TOKEN or any(map(str.isspace, found.value)):  # a command is no token
            raise UsageError(
                f"the token of {user.name} is not set, shorter than {SHORTEST_TOKEN} characters or has blanks",
                where=found.origin,
                fix="set a random one, for example what this prints: openssl rand -hex 20",
            )
        if _digest(found.value) in owners:
            raise UsageError("two users have the same token", where="web.users", fix="give each one of its own")
        owners[_digest(found.value)] = Viewer(user.name, user.role)
    return owners


def _digest(token: str) -> bytes:
    return sha256(token.encode(errors="surrogatepass")).digest()
