"""`[web]`: who may open the pages of `aqb web`, and their permissions. It contains names of secrets only."""

from ipaddress import ip_network
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from tasks.config.secrets import MessageUrl
from tasks.config.section import LocalFolder, Section, Variable, matching

Role = Literal["reader", "reviewer", "operator"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Roles in ascending order; each includes the permissions of those before it."""

_HEADER = "[A-Za-z][A-Za-z0-9-]*"
_NO_HEADER = "give the name of a header, such as X-Forwarded-Email"


class WebUser(Section):
    """A person who may open the pages."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    """The person's name in notes and records; behind a proxy the exact value of its header, such as a mail address."""

    role: Role = "reader"
    """reader: views pages; reviewer: also labels, sends and scores test runs; operator: also asks the judge, fills the
    inbox, decides about alerts, and reads the access log.
    """

    token_env: Variable = ""
    """The variable with the person's token (20 characters or more), for `auth = "token"`; `<variable>_FILE` may name
    its place.
    """


class WebSettings(Section):
    """The pages that `aqb web` serves."""

    auth: Literal["none", "token", "proxy"] = "none"
    """The authentication: none (this machine only, everybody is an operator), token, or a proxy's header."""

    users: tuple[WebUser, ...] = ()
    """`[[web.users]]` with `name`, `role`, and with tokens `token_env`."""

    other_role: Literal["", Role] = ""
    """The role of people authenticated by the proxy who are not in `users`. Empty: no access."""

    proxy_addresses: tuple[str, ...] = ("127.0.0.1", "::1")
    """Addresses or networks of the proxy. Its header is ignored in requests from elsewhere."""

    proxy_user_header: Annotated[str, matching(_HEADER, _NO_HEADER)] = "X-Forwarded-Email"
    """The header with the user's name from the proxy, which must remove it from client requests."""

    proxy_address_header: Annotated[str, matching(f"({_HEADER})?", _NO_HEADER)] = ""
    """The header with the client's address from the proxy, such as X-Real-IP, for the login limit and the access log;
    the proxy must remove it from client requests. Empty: requests have the proxy's address.
    """

    url: MessageUrl = ""
    """The public URL of the pages, such as `https://aqb.example.com`, for links in messages, except those of a named
    service. Empty: messages link to the reports.
    """

    hosts: tuple[str, ...] = ()
    """The host names of the pages, without port, in addition to those of this machine and of `url`."""

    personal_data: Literal["nobody", Role] = "nobody"
    """The lowest role that sees and searches texts unmasked. For all others personal data is masked."""

    session_hours: float = Field(default=12, gt=0, le=24 * 31)
    """Hours until a login expires."""

    requests_per_minute: int = Field(default=300, ge=10)
    """The maximum requests a minute of one person, and of one address without a login."""

    uploads: LocalFolder = "data/uploads"
    """The folder of uploaded test runs and their results."""

    upload_megabytes: int = Field(default=20, ge=1, le=500)
    """The maximum size of an upload in megabytes."""

    upload_seconds: float = Field(default=300, gt=0, le=3600)
    """The maximum seconds of an upload."""

    @field_validator("proxy_addresses")
    @classmethod
    def _are_addresses(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for address in addresses:
            ip_network(address)
        return addresses

    @model_validator(mode="after")
    def _knows_somebody(self) -> Self:
        names = [user.name for user in self.users]
        if len(set(names)) < len(names):
            raise ValueError("two users have the same name")
        if self.auth == "token" and not all(user.token_env for user in self.users):
            raise ValueError('with auth = "token" each user needs token_env')
        if (self.auth == "token" and not self.users) or (self.auth == "proxy" and not (self.users or self.other_role)):
            raise ValueError(f'auth = "{self.auth}" needs [[web.users]], or nobody gets in')
        return self
