from typing import Any

import pytest
from pydantic import ValidationError

from tasks.config.judge import JudgeSettings
from tests.fakes.judge_questions import questions, settings_for


@pytest.mark.parametrize(("api", "tokens"), [("chat", "max_completion_tokens"), ("responses", "max_output_tokens")])
def test_request_names_its_parameters_as_its_api_does(api: str, tokens: str) -> None:
    body = questions(1, settings_for("", api=api))[0].body("mark")
    assert (body["model"], body["temperature"], body[tokens]) == ("judge-1", 0.0, 1000)
    assert ("seed" in body) == (api == "chat")


def test_none_leaves_a_parameter_out() -> None:
    settings = settings_for("", temperature="none", seed="none", max_usd="none")
    body = questions(1, settings)[0].body("mark")
    assert "temperature" not in body
    assert "seed" not in body


@pytest.mark.parametrize(
    "wrong",
    [
        {"rpm": -1},
        {"temperature": 3},
        {"mode": "fast"},
        {"max_usd": -1},
        {"model": ""},
        {"max_in_flight": 0},
        {"rpn": 1},
    ],
    ids=str,
)
def test_setting_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings_for("", **wrong)


def test_judge_is_off_until_it_is_switched_on() -> None:
    assert not JudgeSettings().enabled


def test_model_that_judges_by_default_has_a_price() -> None:
    assert JudgeSettings().price is not None


def test_key_is_not_shown() -> None:
    settings = settings_for("", api_key="sk-5ecret")
    assert "5ecret" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()
