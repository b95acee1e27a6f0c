"""How texts are searched: keywords that ignore white space, patterns that cannot hang."""

import pyarrow as pa
import pyarrow.compute as pc


def folded(text: str) -> str:
    """`text` without white space, and otherwise as it is: `지원서 인쇄` is found in `지원서인쇄`."""
    return "".join(text.split())


def matches(pattern: str, text: str) -> bool:
    """Whether an RE2 pattern is found anywhere in `text`. RE2 takes time in proportion to the text, so
    that nobody's pattern can hang a run; look-arounds and back references do not exist in it.

    Raises:
        ValueError: no RE2 pattern. `pattern_problem` tells beforehand.
    """
    return bool(pc.match_substring_regex(pa.scalar(text, pa.string()), pattern=pattern).as_py())


def pattern_problem(pattern: str) -> str:
    """Why `pattern` is no RE2 pattern (Korean), '' when it is one."""
    try:
        matches(pattern, "")
    except ValueError as error:
        return f"정규식을 쓸 수 없음: {error}"
    return ""
