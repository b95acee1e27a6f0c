"""`[web]`: who may open the pages of `aqb web`, and what they may see and do. It names secrets and holds none."""

import re
from ipaddress import ip_network
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tasks.config.secrets import MessageUrl
from tasks.config.section import VARIABLE, LocalFolder, Section

Role = Literal["reader", "reviewer", "operator"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Who may do the least comes first; each may do what those before it may."""

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class WebUser(Section):
    """A person who may open the pages."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    """Who it is, in notes and records; behind a proxy exactly what its header says, such as a mail address."""

    role: Role = "reader"
    """reader: sees; reviewer: also labels; operator: also decides about alerts, and reads the record of accesses."""

    token_env: str = ""
    """The variable of the person's token (20 characters or more), for `auth = "token"`; `<variable>_FILE` may say
    where it lies."""

    @field_validator("token_env")
    @classmethod
    def _names_a_variable(cls, name: str) -> str:
        if name and not VARIABLE.fullmatch(name):  # most likely the token itself: it is not repeated
            raise ValueError("give the name of an environment variable, such as WEB_TOKEN_KIM, not its value")
        return name


class WebSettings(Section):
    """The pages that `aqb web` serves."""

    auth: Literal["none", "token", "proxy"] = "none"
    """How people are known: none (this machine alone, everybody is an operator), token, or by the header of a proxy."""

    users: tuple[WebUser, ...] = ()
    """`[[web.users]]` with `name`, `role`, and with tokens `token_env`."""

    other_role: Literal["", Role] = ""
    """The role of people whom the proxy lets through and who are not among the users. Empty: they see nothing."""

    proxy_addresses: tuple[str, ...] = ("127.0.0.1", "::1")
    """Where requests of the proxy come from: addresses or networks. Its header counts from nowhere else."""

    proxy_user_header: str = "X-Forwarded-Email"
    """The header in which the proxy says who it is; it must take away one that a client sends."""

    proxy_address_header: str = ""
    """The header in which the proxy says from which address a request comes, such as X-Real-IP, for the limit of logins
    and the record of accesses; it must take away one that a client sends. Empty: they count as the proxy's own."""

    url: MessageUrl = ""
    """Where people open the pages, such as `https://aqb.example.com`: messages lead to the rows there. Those of a
    service with a name do not. Empty: messages lead to the reports."""

    hosts: tuple[str, ...] = ()
    """The names under which the pages are opened, without port, besides those of this machine."""

    personal_data: Literal["nobody", Role] = "nobody"
    """From which role on texts are shown and searched as they are. For all others personal data is masked."""

    session_hours: float = Field(default=12, gt=0, le=24 * 31)
    """Hours after which a person has to log in again."""

    requests_per_minute: int = Field(default=300, ge=10)
    """The most requests of one person, and of one address that nobody has logged in from."""

    uploads: LocalFolder = "data/uploads"
    """The folder of the test runs that people send, with their results."""

    upload_megabytes: int = Field(default=20, ge=1, le=500)
    """The largest file that may be sent."""

    upload_seconds: float = Field(default=300, gt=0, le=3600)
    """Seconds within which a file must have arrived."""

    @field_validator("proxy_addresses")
    @classmethod
    def _are_addresses(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for address in addresses:
            ip_network(address)
        return addresses

    @field_validator("proxy_user_header", "proxy_address_header")
    @classmethod
    def _is_a_header(cls, name: str, field: ValidationInfo) -> str:
        if not _HEADER.fullmatch(name) and (name or field.field_name == "proxy_user_header"):
            raise ValueError("give the name of a header, such as X-Forwarded-Email")
        return name

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
