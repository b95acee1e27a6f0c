"""Chat rows that engines like to read differently: a fixed list, and a source of invented ones."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unicodedata import normalize

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Row = dict[str, Any]
START = datetime(2026, 2, 3, 14, 59, 59, 999_998, tzinfo=UTC)  # two microseconds before a new day in Seoul

# Words of the rules, near misses of them, and signs that are easily taken for others.
QUESTION_PIECES = (
    *("005930", "００５９３０", "٠٠٥٩٣٠", "12345", "삼성전자", "목표주가", "한화", "주", "PER", "시가총액", "per"),
    *("종합적으로 분석", "비교 분석", "주가 동향", "재무 지표", "실적 분석", "배당 현황", "뉴스 동향", "알려", "조회"),
    *("최근 3개월", "최근 ３개월", "2024년", "1분기", "올해", "vs", "대비", "주가", "뉴스", "재무", "전망", "실적"),
    *(
        "?",
        "？",
        "﹖",
        "ㅋㅋ",
        "ㅋ",
        "ㅠ",
        "ㅅㅂ",
        "미친",
        "a",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\v",
        "\x00",
        "\u00a0",
        "\u3000",
    ),
    *(
        "\u200b",
        "\ufeff",
        "\u2028",
        "\x85",
        "😀",
        "👨‍👩‍👧",
        "🇰🇷",
        "é",
        "e\u0301",
        "\ud7a4",
        "ㆍ",
        "|",
        ":",
        "-",
        "'",
        "\\",
        '"',
    ),
    *(normalize("NFD", "삼성전자"), normalize("NFD", "비교 분석"), normalize("NFD", "강"), "가" * 40),
)
ANSWER_PIECES = (
    *(
        "죄송합니다. 저는 법률",
        "죄송합니다. 저는 금융",
        "죄송합니다. 저는 주식",
        "죄송",
        "제공되지 않",
        "> ",
        ">",
        "\n",
    ),
    *(
        "질문의 범위가 너무 넓어",
        "입력하신 내용을 정확히 이해하지 못했습니다",
        "|",
        "|가|나|",
        "**",
        "**굵게**",
        "*",
        "- ",
    ),
    *(
        "• ",
        "\n- ",
        "\n• ",
        "\r\n* ",
        "\r- ",
        "---",
        "\n# ",
        "\n##\t",
        "\n####",
        "\n#\u00a0",
        "\n#\v",
        "\n" * 5,
        "\n" * 10,
    ),
    *(
        "1,234",
        "1,234원",
        "１,２３４",
        "12,34",
        "2026-02-13",
        "2026/02",
        "2026.02.13",
        "KOSPI",
        "코스닥",
        "원",
        "%",
        "％",
    ),
    *(
        "005930",
        "뉴스",
        "기사",
        "매출",
        "순이익",
        " ",
        "\u00a0",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\x00",
        "\\n",
        "😀",
        "가" * 45,
    ),
    *(normalize("NFD", "죄송합니다. 저는 법률"), "ㅋㅋ", "'", "\\", "`"),
)
TOKENS = (
    *(None, float("nan"), float("inf"), float("-inf"), -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.5, 1.0, 7.0, 30.0, 31.0),
    *(49.0, 50.0, 60.0, 61.0, 99.0, 99.999, 100.0, 100.5, 101.0, 149.0, 150.0, 199.0, 200.0, 400.0, 800.0, 1000.0),
    *(1199.0, 1200.0, 1e15, 1.7976931348623157e308),
)
LABELS = (None, "", "-", "1:-", "tenant", "|", "0:", "텐넌트", normalize("NFD", "텐"), "a|1:b")
TIMESTAMPS = (
    None,
    *(START + timedelta(microseconds=offset) for offset in range(4)),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1900, 1, 1, tzinfo=UTC),  # Seoul kept its local mean time
    datetime(1956, 6, 30, 15, 15, tzinfo=UTC),  # Seoul was half an hour behind, and on summer time
    datetime(1988, 7, 1, 14, 30, tzinfo=UTC),  # the last summer time
    datetime(2100, 2, 28, 15, tzinfo=UTC),
)


def chat_row(
    user_input: str | None = "삼성전자 주가 알려줘",
    llm_response: str | None = "삼성전자는 1,234원입니다.",
    input_tokens: float | None = 1000.0,
    output_tokens: float | None = 300.0,
    timestamp: datetime | None = START,
    tenant_id: str | None = "tenant",
    session_id: str | None = "session",
) -> Row:
    return dict(locals())


NULLS = [
    chat_row(user_input=None),
    chat_row(llm_response=None, output_tokens=0.0),
    chat_row(user_input=None, llm_response=None),
    chat_row(timestamp=None),
    chat_row(user_input=None, output_tokens=-1.0),
    chat_row(input_tokens=None, output_tokens=None, tenant_id=None, session_id=None),
    chat_row("", "", None, None),
]
LABELLED = [chat_row(tenant_id=tenant, session_id=session) for tenant in LABELS for session in (None, "", "-", "1:b|-")]
# Texts that would take over a neighbour's part of the row key if lengths did not stand before them.
INJECTED = [
    chat_row(tenant_id="a|1:b", session_id=None),
    chat_row(tenant_id="a", session_id="b"),
    chat_row(tenant_id="a", session_id="b|3:qqq", user_input="q"),
    chat_row(tenant_id="a", session_id="b", user_input="3:qqq|1:q"),
    chat_row(tenant_id="-|-", session_id=None, user_input="-"),
    chat_row(tenant_id=None, session_id="-|-", user_input="-"),
    chat_row(tenant_id="12:" + "a" * 12),
    chat_row(user_input="x|10", llm_response="가" * 10),
    chat_row(user_input="x", llm_response="가" * 10),
]
# Equal keys: the suffix follows tokens (NULL first), then the answer as bytes (so that an emoji comes last).
TIED = [
    chat_row(llm_response=text, input_tokens=given, output_tokens=output, session_id="tied")
    for text in ("나가", "가나", "가나", "😀가", "\ufffd가", "Zz")
    for given, output in [(1000.0, 300.0), (None, 300.0), (1000.0, float("nan")), (0.0, 0.0), (-0.0, 0.0), (10.0, 2.0)]
]
TIMES = [chat_row(timestamp=moment) for moment in TIMESTAMPS]
NUMBERS = [chat_row(input_tokens=given, output_tokens=output) for given in TOKENS for output in (0.0, 200.0, None)] + [
    chat_row(input_tokens=given, output_tokens=output) for given in (1000.0, 5e-324, None) for output in TOKENS
]
FIXED: list[Row] = [*NULLS, *LABELLED, *INJECTED, *TIED, *TIMES, *NUMBERS]


def texts(pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Texts of rule words and traps, and now and then of anything at all."""
    storable = st.characters(exclude_categories=["Cs"])
    return st.lists(st.sampled_from(pieces) | storable, max_size=8).map("".join) | st.text(storable, max_size=20)


def chat_rows(*, scorable: bool = False) -> st.SearchStrategy[Row]:
    """Invented rows; with `scorable` only such as are neither rejected nor excluded, NaN apart."""
    questions, answers = texts(QUESTION_PIECES), texts(ANSWER_PIECES)
    tokens = st.sampled_from(TOKENS) | st.integers(0, 3000).map(float)
    if scorable:
        return st.builds(
            chat_row,
            user_input=questions,
            llm_response=answers,
            input_tokens=tokens.filter(_storable_tokens),
            output_tokens=tokens.filter(_storable_tokens),
            timestamp=st.sampled_from(TIMESTAMPS[1:]),
            tenant_id=st.sampled_from(LABELS),
            session_id=st.sampled_from(LABELS),
        )
    return st.builds(
        chat_row,
        user_input=questions | st.none(),
        llm_response=answers | st.none(),
        input_tokens=tokens,
        output_tokens=tokens,
        timestamp=st.sampled_from(TIMESTAMPS),
        tenant_id=st.sampled_from(LABELS),
        session_id=st.sampled_from(LABELS) | texts(QUESTION_PIECES),
    )


def invented(count: int) -> list[Row]:
    """The same invented rows every time."""
    rows: list[Row] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(chat_rows() | chat_rows(scorable=True))
    def invent(row: Row) -> None:
        rows.append(row)

    invent()
    return rows


def _storable_tokens(tokens: float | None) -> bool:
    return tokens is None or tokens != tokens or 0 <= tokens < float("inf")
