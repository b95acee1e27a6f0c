"""The tables of `ola-monitoring` as SPEC 1.3 and 1.4 name them, and the constants that people read."""

import pyarrow as pa

from scoring.rubrics.ola_monitoring import RUBRIC

TEXT, INTEGER, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
SCORE_COLUMNS = [
    ("score_date", pa.date32()),
    ("row_id", TEXT),
    ("timestamp", pa.timestamp("us", "UTC")),
    *((name, TEXT) for name in ("tenant_id", "session_id", "user_input", "llm_response")),
    *((name, NUMBER) for name in ("input_tokens", "output_tokens")),
    *((name, INTEGER) for name in ("question_length", "answer_length")),
    *((name, NUMBER) for name in ("token_ratio", "length_ratio")),
    ("answer_lines", INTEGER),
    *((name, TRUTH) for name in ("question_has_stock_code", "answer_has_table", "answer_has_number")),
    *((name, TRUTH) for name in ("answer_has_date", "answer_has_bold", "answer_has_apology")),
    ("question_category", TEXT),
    *((f"q_{name}", INTEGER) for name in ("specificity", "intent", "context", "length", "formality", "score")),
    ("q_tier", TEXT),
    *((f"a_{name}", INTEGER) for name in ("volume", "structure", "data", "efficiency", "non_refusal", "score")),
    ("a_grade", TEXT),
    *((f"i_{name}", INTEGER) for name in ("match", "ratio", "information", "score")),
    ("final_score", NUMBER),
    *((name, TEXT) for name in ("final_grade", "failure_type", "alert_level")),
    ("alert_rules", pa.list_(TEXT)),
    *((name, TEXT) for name in ("cause", "rubric", "rubric_version")),
    ("answer_says_no_data", TRUTH),
    ("source_id", TEXT),
]


def test_score_columns_have_the_names_the_order_and_the_types_of_the_specification() -> None:
    assert list(zip(RUBRIC.scores_schema.names, RUBRIC.scores_schema.types, strict=True)) == SCORE_COLUMNS


def test_excluded_columns_are_those_of_the_specification() -> None:
    assert RUBRIC.excluded_schema.names == [
        *("score_date", "timestamp", "tenant_id", "session_id", "input_tokens", "output_tokens"),
        *("reason", "alert_level", "alert_rules"),
    ]


def test_kpi_columns_hold_what_the_specification_asks_for() -> None:
    asked = {
        *("score_date", "tenant_id", "rows", "excluded", "excluded_rate", "rubric", "rubric_version"),
        *("answer_excellent_rate", "failure_rate", "gold_mine_rate", "mean_final_score"),
        *("mean_q_score", "mean_a_score", "mean_i_score", "critical_rows", "warning_rows"),
        *(f"final_grade_{grade}" for grade in ("star", "a", "b", "c", "f")),
        *(f"alert_{rule.id}" for rule in RUBRIC.alert_rules),
    }
    assert asked <= set(RUBRIC.kpis_schema.names)


def test_kpi_columns_that_came_later_stand_behind_the_version() -> None:
    names = RUBRIC.kpis_schema.names
    pairs = [f"alerts_{one}_and_{other}" for one, other in RUBRIC.alert_pairs]
    assert len(pairs) == 6
    figures = [
        f"{kpi}_{column}"
        for kpi in ("answer_excellent_rate", "failure_rate", "gold_mine_rate", "mean_final_score")
        for column in ("low", "high", "verdict")
    ]
    assert names[names.index("rubric_version") + 1 :] == [
        "answer_says_no_data_rate",
        *pairs,
        *figures,
        "alerts_llm_blocked_and_excluded_rate_rising",
    ]


def test_targets_are_those_of_the_requirement() -> None:
    targets = {kpi.name: (kpi.target.operator, kpi.target.value) for kpi in RUBRIC.quotients if kpi.target}
    assert targets == {
        "answer_excellent_rate": (">=", 0.9),
        "failure_rate": ("<=", 0.03),
        "gold_mine_rate": ("<=", 0.01),
        "mean_final_score": (">=", 65),
    }


def test_alert_rules_have_the_levels_and_the_order_of_the_specification() -> None:
    assert [(rule.id, rule.level) for rule in RUBRIC.alert_rules] == [
        *((rule, "critical") for rule in ("answer_failed", "good_question_bad_answer", "llm_blocked", "final_failed")),
        *((rule, "warning") for rule in ("weak_answer", "very_short_answer")),
    ]


def test_grades_have_the_labels_and_actions_of_the_requirement() -> None:
    assert {grade.code: (grade.sign, grade.title, grade.action) for grade in RUBRIC.final_scale.grades} == {
        "STAR": ("★", "우수", "Golden Set 편입 후보"),
        "A": ("A", "양호", "정상 운영"),
        "B": ("B", "보통", "모니터링"),
        "C": ("C", "미흡", "개선 대상 → 원인 태깅"),
        "F": ("F", "실패", "즉시 알림 → 규칙 수정"),
    }


def test_every_column_says_what_it_is_and_where_it_comes_from() -> None:
    for schema in (RUBRIC.scores_schema, RUBRIC.excluded_schema, RUBRIC.kpis_schema, RUBRIC.crosstab_schema):
        assert [column.name for column in schema if not (column.metadata or {}).get(b"description")] == []
    assert [
        definition.name
        for definition in RUBRIC.definitions
        if not ("seed 002" in definition.source or "SPEC" in definition.source)
    ] == []
