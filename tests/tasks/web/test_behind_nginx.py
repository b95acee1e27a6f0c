"""The pages behind nginx, set up as `deployments/aqb-web.nginx.conf` has it."""

import re

from tasks.config.settings import Settings
from tests.builders.web import OF_TOKENS, TOKENS, browser
from tests.health.test_house import ROOT

CONFIGURED = (ROOT / "deployments" / "aqb-web.nginx.conf").read_text(encoding="utf-8")


def test_people_log_in_through_nginx_on_another_port(settings: Settings) -> None:
    asked = {"$http_host": "127.0.0.1:8443", "$host": "127.0.0.1"}  # what nginx makes of https://127.0.0.1:8443
    passed_on = dict(re.findall(r"proxy_set_header (\S+) (\S+);", CONFIGURED))
    headers = {"host": asked[passed_on["Host"]], "origin": "https://127.0.0.1:8443"}
    with browser(settings, OF_TOKENS) as client:
        answer = client.post("/login", data={"token": TOKENS["TOKEN_READER"], "next": "/rows"}, headers=headers)
    assert answer.status_code == 303
