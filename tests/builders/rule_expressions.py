"""Expressions of the rule language for Hypothesis, each in the form in which its text is read: no list of one part."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from scoring.rules import expressions as ex
from scoring.rules.kinds import Kind

COLUMNS = {
    "user_input": Kind("text"),
    "llm_response": Kind("text"),
    "tenant_id": Kind("text", nullable=True),
    "input_tokens": Kind("number", nullable=True),
    "output_tokens": Kind("number", nullable=True),
    "asked_well": Kind("truth"),
    "q_score": Kind("whole", low=0, high=100),
    "a_score": Kind("whole", low=0, high=100),
    "final_score": Kind("score", low=0, high=100),
}
ROWS = [
    {
        "user_input": question,
        "llm_response": answer,
        "tenant_id": tenant,
        "input_tokens": tokens,
        "output_tokens": written,
        "asked_well": score > 50,
        "q_score": score,
        "a_score": 100 - score,
        "final_score": score / 2,
    }
    for question, answer, tenant, tokens, written, score in (
        ("삼성전자 005930 주가", "| 가 | 나 |\n- 1,200원 (10%)", "kb", 10.0, 1200.0, 80),
        ("", "", None, None, None, 0),
        ('it\'s \\ a "test"?', "가가가 ** 나 ** \r\n\t끝", "*", 0.0, 0.0, 100),
        ("x.y|z", "[a] {2} ^$", "", 3.0, 1e300, 51),
        ("환불 refund 🙂", "죄송합니다. 2026-02-13", "shinhan", 1e-300, 7.5, 50),
    )
]

_WORDS = st.text("가나a.?*+|(){}[]^$\\'\"\n\r\t -%🙂", min_size=1, max_size=4)
_PATTERNS = (
    *(r"[0-9]{1,3}(,[0-9]{3})+", r"^(>?[\t\n\f\r ]*)?죄송", r"\*\*.*\*\*", "[가-힣]+", "a|b+"),
    *("['\"]", "[\n\r]", r"\\+", "(?:가|나){2}"),
)
_OPERATORS: tuple[ex.Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
_DEPTH = 3


@st.composite
def conditions(draw: DrawFn, depth: int = _DEPTH) -> ex.Expression:
    """What is true, false or NULL of a row."""
    if depth and draw(st.booleans()):
        inner = conditions(depth - 1)
        some = st.lists(inner, min_size=2, max_size=3).map(tuple)
        match draw(st.integers(0, 3)):
            case 0:
                return ex.AllOf(draw(some))
            case 1:
                return ex.AnyOf(draw(some))
            case 2:
                return ex.Not(draw(inner))
            case _:
                return ex.IsNull(draw(inner))
    text = ex.Column(draw(st.sampled_from(("user_input", "llm_response", "tenant_id"))))
    match draw(st.integers(0, 7)):
        case 0:
            return ex.Column("asked_well")
        case 1:
            numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False)).map(ex.Value)
            right = draw(st.one_of(numbers, amounts(depth)))
            return ex.Compare(draw(amounts(depth)), draw(st.sampled_from(_OPERATORS)), right)
        case 2:
            return ex.Compare(text, draw(st.sampled_from(_OPERATORS)), ex.Value(draw(_WORDS)))
        case 3:
            return ex.Matches(text, ex.Pattern(draw(st.sampled_from(_PATTERNS))))
        case 4:
            return ex.ContainsAny(text, tuple(draw(st.lists(_WORDS, min_size=1, max_size=3))))
        case 5:
            return ex.IsIn(text, tuple(draw(st.lists(_WORDS, min_size=2, max_size=3))))
        case 6:
            return ex.IsNull(text)
        case _:
            return ex.IsNull(draw(amounts(depth)))


@st.composite
def wholes(draw: DrawFn, depth: int = _DEPTH) -> ex.Expression:
    """Whole numbers that are never NULL: lengths, counts, sums and cases of points."""
    points = st.integers(-100, 100).map(ex.Value)
    if depth and draw(st.booleans()):
        inner = wholes(depth - 1)
        if draw(st.booleans()):
            return ex.Sum((draw(inner), draw(st.one_of(points, inner)), draw(inner)))
        return _case(draw, depth - 1, st.one_of(points, inner), points)
    text = ex.Column(draw(st.sampled_from(("user_input", "llm_response"))))
    match draw(st.integers(0, 2)):
        case 0:
            return ex.Column(draw(st.sampled_from(("q_score", "a_score"))))
        case 1:
            return ex.Length(text)
        case _:
            return ex.Count(text, ex.Pattern(draw(st.sampled_from(_PATTERNS))))


@st.composite
def amounts(draw: DrawFn, depth: int = _DEPTH) -> ex.Expression:
    """Numbers that may be NULL."""
    one = st.one_of(
        wholes(max(0, depth - 1)), st.sampled_from(("input_tokens", "output_tokens", "final_score")).map(ex.Column)
    )
    return ex.Ratio(draw(one), draw(one)) if draw(st.booleans()) else draw(one)


@st.composite
def expressions(draw: DrawFn) -> ex.Expression:
    """What fills a column, or decides about a row."""
    match draw(st.integers(0, 7)):
        case 0 | 1:
            return draw(conditions())
        case 2:
            return draw(wholes())
        case 3:
            return draw(amounts())
        case 4:
            codes = _WORDS.map(ex.Value)
            return _case(draw, _DEPTH, codes, st.one_of(codes, st.just(ex.Value(None))))
        case 5:
            rules = st.lists(st.tuples(_WORDS, conditions(1)), min_size=1, max_size=3)
            return ex.Fired(tuple(draw(rules)))
        case 6:
            weight = draw(st.integers(1, 99))
            return ex.WeightedScore(((weight, ex.Column("q_score")), (100 - weight, ex.Column("a_score"))))
        case _:
            lost = ex.MostLost((("q_score", draw(st.integers(1, 100))), ("a_score", 40)))
            tenths = ex.Tenths(ex.Column("final_score"))
            return lost if draw(st.booleans()) else tenths


def _case(
    draw: DrawFn, depth: int, values: st.SearchStrategy[ex.Expression], otherwise: st.SearchStrategy[ex.Expression]
) -> ex.Case:
    branches = st.lists(st.builds(ex.When, conditions(depth), values), min_size=1, max_size=3)
    return ex.Case(tuple(draw(branches)), draw(otherwise))
