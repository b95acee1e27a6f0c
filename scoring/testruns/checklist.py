"""One line of the Korean checklist that the teams write: `2) dataUIList 내 formType 값이 "SELECT"인
항목이 존재하는가`.

Source: seed 003, 2-1.
"""

import re

from scoring.testruns.checks import ENTRY_KEYS, PAGE_KEY, Condition, EntryCheck, EntryGroup, MessageCheck
from scoring.testruns.tool_usage import EITHER, button_url

_MARKER = re.compile(
    r"^(?:\s*(?:[-*•·▪◦>]+(?=\s)|\(?[0-9]{1,2}[).:]|[0-9]{1,2}번[.:)]?|[①-⑳]|[가-하][.)]"
    r"|\[(?:[0-9]{1,2}|[ xX✓]?)\]))*\s*"
)
# Spreadsheet cells lose their line breaks: a marker before one of the checklist's subjects begins a line.
_INLINE_START = re.compile(
    r"(?<=[^\s*•·-])\s+(?=(?:\(?[0-9]{1,2}[).]|[①-⑳])\s*(?:assistant|dataUIList|해당|답변|응답))", re.IGNORECASE
)
_QUOTED = (
    r"(?:[\"“”„]([^\"“”„\n]{1,400})[\"“”„]|['‘’]([^'‘’\n]{1,400})['‘’]|「([^」\n]{1,400})」|『([^』\n]{1,400})』"
    r"|`([^`\n]{1,400})`)"
)
_ANY_QUOTED = re.compile(_QUOTED)
_HEADING = re.compile(r"[\[<【(]?\s*(?:평가|체크|확인|검증)\s*(?:요소|항목|기준|리스트|포인트)[^\"“‘']{0,30}")
_NEGATED = re.compile(r"않|아닌|아니|없(?:는|어|음|다|나|을|이)|미포함|제외|금지")
_SAYS = re.compile(r"언급|포함|존재|있는|있음|들어|나오|명시|표시|안내", re.IGNORECASE)
_EITHER = re.compile(r"또는|혹은|이나\s|\bor\b", re.IGNORECASE)
_KEYS = {key.removesuffix("Contains").casefold(): key for key in ENTRY_KEYS}
_KEY = rf"(?<![A-Za-z0-9_])({'|'.join(_KEYS)})(?![A-Za-z0-9_])"
_GAP = (
    r"\s{0,5}(?:\([^()\n]{0,40}\))?\s{0,5}의?\s{0,5}(?:값|value|필드|속성)?\s{0,5}(?:이|은|는|가|을|를|에는?)?\s{0,5}"
    r"(?:={1,2}|:|->|→)?\s{0,5}"
)
_CONDITION = re.compile(
    rf"{_KEY}{_GAP}(?:{_QUOTED}((?:\s{{0,5}}(?:또는|혹은|이나|or|[|/])\s{{0,5}}{_QUOTED}){{0,20}})|([A-Za-z0-9_./-]{{1,400}}))",
    re.IGNORECASE,
)
_URL_LINE = re.compile(
    r"(?:(?:(?:기대|정답|예상|이동|버튼|화면|페이지)\s?){0,2}(?:button_?url|url|링크|경로|주소)\s{0,5}(?:={1,2}|:|->|→)?\s{0,5})?"
    r"[\"'“‘`(]?((?:https?://[^\s/\"'”’`)]{1,400})?/[^\s\"'”’`)]{1,4000})[\"'”’`)]?",
    re.IGNORECASE,
)
# A URL in a cell of its own, with the name of its page before it or a remark behind it.
_REMARKED_URL = re.compile(
    r"(?:(?!https?:)[^/:\n]{1,40}[:：]\s*|\[[^\]/]{1,40}\]\()?((?:https?://[^\s/()]{1,400})?/[^\s()\[\]]{1,4000})\)?"
    r"\s*(?:(?:으?로|에|화면|페이지|메뉴|탭|이동|연결|한다|합니다|함)\s*)*(?:\([^()]{1,80}\))?"
)
_PATH_WITHOUT_SLASH = re.compile(r"[\w.~{}%-]{2,400}(?:/|\?\w{1,80}=)[^\s\"'”’`)]{1,4000}", re.ASCII)
_STOPS = " .,;。"  # of the sentence in which a URL or a value stands
_MESSAGE_NAME = re.compile(r"assistant\s?Message", re.IGNORECASE)
_ANSWER_SUBJECT = re.compile(
    r"(?:에이전트의?\s?)?(?:답변|응답)?\s?(?:답변|응답|메시지)의?\s?(?:내용|텍스트|문구)?\s?(?:에|내|안|중)"
)
_BARE_KEYWORD = re.compile(
    r"(?:에는?|내에?|안에)\s{1,5}(\S[^\"\n]{0,80}?)\s{0,5}"
    r"(?:(?:과|와)\s{0,5}관련|에\s{0,5}대한|(?:이|가|을|를|도)?\s{0,5}(?:언급|포함|들어))"
)
_STRUCTURE = re.compile(rf"assistant\s?Message|dataUIList|{_KEY}", re.IGNORECASE)
_FOLLOWS = re.compile(r"해당(?!하는|되는)|(?:위|그|이|동일한?|같은)\s?항목")
_OPENS = re.compile(r"존재|있는|있나|있다|있음|있어야|dataUIList|포함", re.IGNORECASE)


def checklist_lines(text: str) -> list[str]:
    """The lines of a text, including those that lost their line break; blank lines are dropped."""
    return [line.strip() for raw in text.splitlines() for line in _INLINE_START.split(raw) if line.strip()]


def url_conditions(line: str) -> list[Condition]:
    """The conditions of a line that is a URL or its path, with or without a label: its page, and a datakey in it.

    Of several with `또는` between them one is wanted, with its datakey. [] for any other line. Source: SPEC 2.
    """
    body = _MARKER.sub("", line, count=1)
    matches = [_URL_LINE.fullmatch(part.strip().rstrip(_STOPS)) for part in EITHER.split(body)]
    written = [match[1].rstrip(_STOPS) for match in matches if match]
    if len(written) < len(matches):
        return []
    urls = list(map(button_url, written))
    if len(urls) > 1:
        datakeys = tuple(dict.fromkeys(key for url in urls for key in sorted(url.datakeys)))
        either = [Condition("dataKey", datakeys)] if all(url.datakeys for url in urls) else []
        return [Condition(PAGE_KEY, tuple(written)), *either]
    (url,) = urls
    pages = [Condition(PAGE_KEY, url.url_paths)] if url.url_paths and url.url_paths != ("/",) else []
    return [*pages, *(Condition("dataKey", (datakey,)) for datakey in sorted(url.datakeys))]


def url_line(written: str) -> str:
    """A line of a cell for expected URLs as a line of the expected result, which `url_conditions` reads.

    It may have its own label, no slash, or a remark (`설정: /agent/setting 화면 (관리자)`), of which the URL is kept; a
    line that says something else stays as it is, for the judge.
    """
    remarked = None if _NEGATED.search(written) else _REMARKED_URL.fullmatch(written.strip().rstrip(_STOPS))
    slashless = _PATH_WITHOUT_SLASH.match(written)
    forms = (written, remarked[1] if remarked else "", f"/{written}" if slashless else "")
    return next(
        (line for form in forms for line in (f"기대 URL: {form}", form) if url_conditions(line)), f"기대 URL: {written}"
    )


def parse_checklist_line(line: str) -> MessageCheck | EntryGroup | EntryCheck | str | None:
    """Parses one line: an EntryGroup opens a group, an EntryCheck joins the open one.

    A text is returned if the line is no check: the reason (Korean) if it looks like one, else ''. None is a heading;
    the number of checks that it states is ignored.
    """
    body = _MARKER.sub("", line, count=1)
    if _HEADING.fullmatch(body) and not _STRUCTURE.search(body):
        return None
    unquoted = _ANY_QUOTED.sub('""', body)
    asks = bool(_MESSAGE_NAME.search(unquoted) or (_ANSWER_SUBJECT.match(unquoted) and _SAYS.search(unquoted)))
    if not asks and not _STRUCTURE.search(unquoted):
        return ""
    if _NEGATED.search(unquoted):
        return "부정형 조건은 규칙으로 확인하지 않음"
    conditions = tuple(_conditions(body))
    if asks and conditions:
        return "답변 조건과 항목 조건이 한 줄에 섞여 있음"
    if conditions:
        check = EntryCheck(line, "checklist", conditions)
        opens = _OPENS.search(unquoted) and not _FOLLOWS.search(unquoted)
        return EntryGroup(check) if opens else check
    keywords = _keywords(body) if asks else ()
    if not keywords:
        return "확인할 값을 찾지 못함" if _STRUCTURE.search(unquoted) else ""
    return MessageCheck(line, "checklist", keywords, any_of=bool(_EITHER.search(unquoted)))


def _conditions(body: str) -> list[Condition]:
    found = []
    for match in _CONDITION.finditer(body):
        key, *first = match.groups()[:6]
        further, bare = match.group(7), match.groups()[-1]
        values = [value for value in first if value] or [bare.rstrip(_STOPS) or bare]
        values += [value for groups in _ANY_QUOTED.findall(further or "") for value in groups if value]
        found.append(Condition(_KEYS[key.casefold()], tuple(value.strip() for value in values)))
    return found


def _keywords(body: str) -> tuple[str, ...]:
    quoted = tuple(value.strip() for groups in _ANY_QUOTED.findall(body) for value in groups if value.strip())
    bare = None if quoted else _BARE_KEYWORD.search(body)
    return (bare.group(1).strip(),) if bare else quoted
