"""Replaces personal data and keys in texts by labels before a text leaves the machine. Source: SPEC 7 and 8.

Masking prefers false positives: a text without a number can still be judged, but a number that has left the machine
cannot be recalled. `make bench` measures recall and false positives of each kind; see `docs/security.md`.

The run time is linear in the length of the text: a pattern without a length limit starts only at the beginning of a run
of its characters and does not backtrack (`++`), all others are bounded.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from scoring.judging.escapes import unescaped

_LONG_NUMBER = re.compile(r"[0-9](?:[^0-9가-힣\n]{0,8}[0-9]){6}")


@dataclass(frozen=True)
class _Kind:
    """The pattern of one kind of data. Its group `data`, else the whole match, is masked if `check` accepts its digits.

    A kind without a label protects its matches: they stay, and later kinds skip them. Every valid match contains a
    match of `needs`, which is fast to search and missing in most texts: only then is the pattern compiled.
    """

    label: str
    written: str
    check: Callable[[str], bool] = bool
    needs: re.Pattern[str] = _LONG_NUMBER

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.written, re.IGNORECASE)


def _is_card(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in digits[-1::-2])) % 10 == 0


def _is_resident(digits: str) -> bool:
    """Whether 13 digits without separators are a resident number and not a date from 2020 to 2026 in milliseconds.

    A person whose birth date has the same digits as such a date has a number with a check digit.
    """
    if digits[:2] not in ("16", "17") or len(digits) < 13:
        return True
    weights = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
    total = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))
    return digits[6] in "34" and (11 - total % 11) % 10 == int(digits[12])


def _is_account(digits: str) -> bool:
    return 10 <= len(digits) <= 14


# Between groups of digits: at most two blanks, one sign, two blanks; at least one of them.
_GAP = r"(?:[ \t]{0,2}[-./·∙•・_~)][ \t]{0,2}|[ \t]{1,2})"
_MONTH_DAY = "(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_BIRTHDAY = f"[0-9]{{2}}{_MONTH_DAY}"
_DATE = rf"(?:19|20)?[0-9]{{2}}(?:[ ]?[-./년][ ]?[01]?[0-9][ ]?[-./월][ ]?[0-3]?[0-9](?:[ ]?일)?|{_MONTH_DAY})(?![0-9])"
_CUT_DAY = r"[-./·][ ]?(?:0?[1-9]|1[0-2])[-./·][ ]?(?:0?[1-9]|[12][0-9]|3[01])"
_ISO_DAY = "(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-[0-3][0-9]"
_COUNTRY = r"(?:\(?(?:\+|00)?82\)?[ .-]{0,2}\(?0?\)?[ .-]{0,2}|\(?0)"
_ABROAD = r"\(?(?:\+|00)82\)?[ .-]{0,2}(?:\(?0\))?0?[ .-]?"
_AREA = "(?:2|3[1-3]|4[1-4]|5[1-5]|6[1-4]|70|80|50[2-8]?)"  # landline, internet and personal numbers
# A group of six digits is never made by joining others: `010120 1234 5678` is a stock code with two prices.
_REST = rf"\)?(?:[ ]?{_GAP}[0-9]{{3,4}}{_GAP}[0-9]{{4}}|{_GAP}[0-9]{{7,8}})"
_BROKEN = r"[ \t]{0,2}[-.]?[ \t]{0,2}\r?\n[ \t]{0,2}[-.]?"  # a gap at which a line ends
_ACROSS = rf"(?:{_GAP}[0-9]{{3,4}}{_BROKEN}|{_BROKEN}[0-9]{{3,4}}{_GAP})[0-9]{{4}}"
# Without a dash two lines are two numbers, and behind a dash with a blank a line is an item of a list.
_GAP_OR_HYPHEN = rf"(?:{_GAP}|[ \t]{{0,2}}-[ \t]{{0,2}}\r?\n[ \t]{{0,2}}|\r?\n-)"
_SERVICE = "(?:15(?:22|44|66|77|88|99)|16(?:44|61|66|68|70|88)|18(?:11|33|55|77|99))"
_PAIRS = rf"{_GAP}[0-9]{{2}}(?:{_GAP}[0-9]{{2}}){{3}}"
_CARD_START = "(?:2[2-7]|[3-69][0-9])[0-9]{2}"
_BANK = "(?:은행|뱅크|농협|신협|수협|새마을금고|우체국|증권|토스|카카오페이)"
_NAMED = r"[^0-9\n]{0,12}"  # what may stand between a label and its digits
_UNTIL_ACCOUNT = r"[^0-9\n]{0,15}"
_LAST_DIGITS = "(?![0-9])"
_AT = r"[ ]{0,2}(?:@|[\[({<][ ]?(?:at|골뱅이)[ ]?[\])}>]|골뱅이)[ ]{0,2}"
_BLANK_IN_HOST = "[ ]{1,2}(?=(?:com|net|org|co|kr)(?![a-z]))"  # any other word begins a sentence
_DOT = (
    rf"(?:\.(?:{_BLANK_IN_HOST})?|[ ]{{1,2}}\.[ ]{{0,2}}|[ ]?[\[({{<][ ]?(?:dot|점|닷)[ ]?[\])}}>][ ]?|[ ]?[점닷][ ]?"
    r"|[ ]{1,2}dot[ ]{1,2})"
)
_HOST = rf"(?:[a-z0-9-]{{1,63}}{_DOT}){{1,8}}[a-z][a-z0-9-]{{1,23}}"
_KOREAN_HOST = rf"(?:[a-z0-9가-힣-]{{1,63}}{_DOT}){{1,8}}(?:[가-힣]{{2,5}}|컴|[a-z]{{2,23}})"
_TOKEN = r"""[^\s"'&,;<>{}\[\]()가-힣]"""  # noqa: S105  (a sign of a key)
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"

_LONG_WORD = re.compile(f"{_TOKEN}{{8}}")
_AT_SIGN = re.compile(r"@|골뱅이|[\[({<][ ]?at", re.IGNORECASE)
_OWNER = re.compile("법인|주민|rrn|뒷|생|birth|dob", re.IGNORECASE)
_ADDRESS = re.compile("[0-9a-f][.:][0-9a-f:]", re.IGNORECASE)
_KOREAN_LABEL = "(?:비밀번호|비번|패스워드|암호)"
_PASSWORD = re.compile(rf"passw(?:or)?d|(?<![a-z])pwd?(?![a-z])|{_KOREAN_LABEL}", re.IGNORECASE)
_PRIVATE_KEY = re.compile("PRIVATE KEY-----")
_URL = re.compile("://")
_LINE_OF_PHONE = re.compile(r"\n[ \t]{0,2}[-.]?[0-9]{3,4}[ \t]{0,2}[-.]?[ \t]{0,2}\r?\n")
_NEEDS = (_LONG_NUMBER, _LONG_WORD, _AT_SIGN, _OWNER, _ADDRESS, _PASSWORD, _PRIVATE_KEY, _URL, _LINE_OF_PHONE)

_JOINED_PHONE = re.compile(rf"(?:82|0)(?:1[016-9][0-9]{{7,8}}|{_AREA}[0-9]{{7,8}})")
_MOBILE_WITHIN = re.compile("010[0-9]{8}|01[16-9][0-9]{7}")  # a single digit may stand beside it
_JOINED_RESIDENT = re.compile(f"{_BIRTHDAY}[1-8][0-9]{{6}}")


def _label(word: str, end: str = "", gap: str = _NAMED) -> str:
    """A label and what may stand between it and its data; also in brackets, `[생년월일] 1990-01-02`.

    In brackets, with its `end`, it is what data is replaced by: a number further behind it is of something else.
    """
    return rf"(?:(?:{word})(?!{end}\]){gap}|\[(?:{word}){end}\][ :]{{0,3}})"


def _one_by_one(count: str) -> str:
    return rf"(?<![0-9])\+?[0-9](?:[ ./·_-]{{1,3}}[0-9]){count}(?![ ]?[0-9])"


def _dated(label: str, of_1900s: str, of_2000s: str) -> _Kind:
    """A resident number with a dash, whose birthday has a full year or signs within it.

    An order number that begins with a date of the 2020s may have the same form: a child's number is left alone.
    """
    day, dash = f"(?:{_MONTH_DAY}|{_CUT_DAY})", "[ ]{0,2}-[ ]{0,2}"
    century = f"19[0-9]{{2}}{day}{dash}[{of_1900s}]|20[01][0-9]{day}{dash}[{of_2000s}]"
    return _Kind(
        label,
        rf"(?<![0-9])(?:{century}|[0-9]{{2}}{_CUT_DAY}{dash}[{of_1900s}{of_2000s}])[0-9*●xX]{{6}}{_LAST_DIGITS}",
    )


# In the order in which they claim their digits: labels and the most particular shapes first.
_KINDS = (
    _Kind(  # PEM; its lines may be kept as `\n`
        "[인증키]",
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
        r"(?:(?:\s|\\[nr])*+(?:proc-type|dek-info):[^\n]{0,80}+){0,2}+(?:\s|\\[nr])*+"
        r"(?P<data>[a-z0-9+/=]{16,}+[a-z0-9+/=\\\s]*+)",
        needs=_PRIVATE_KEY,
    ),
    _Kind(  # the rest of one, whose beginning is not in this part of the text
        "[인증키]",
        r"(?<![a-z0-9+/=\\\s])(?=[a-z0-9+/=\\\s]*?[a-z0-9+/]{40})(?P<data>[a-z0-9+/=\\\s]++)"
        r"-----END [A-Z ]{0,20}PRIVATE KEY-----",
        needs=_PRIVATE_KEY,
    ),
    _Kind("", r"(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-z])", needs=_LONG_WORD),
    _Kind("", r"법인(?:등록)?[ ]?번호[^0-9\n]{0,5}(?P<data>[0-9]{6}-?[0-9]{7})" + _LAST_DIGITS, needs=_OWNER),
    _Kind(
        "[인증키]",
        r"(?<![a-z0-9])(?:(?:sk|pk|rk)[-_][a-z0-9_-]{16,}+|gh[opusr]_[a-z0-9]{20,}+|github_pat_[a-z0-9_]{20,}+"
        r"|x(?:ox[a-z]|app)-[a-z0-9-]{10,}+|(?:akia|asia)[a-z0-9]{16}(?![a-z0-9])|aiza[a-z0-9_-]{30,}+|ya29\.[a-z0-9_-]{20,}+"
        r"|glpat-[a-z0-9_-]{16,}+|hf_[a-z0-9]{20,}+|npm_[a-z0-9]{20,}+|sg\.[a-z0-9_-]{16,64}\.[a-z0-9_-]{16,}+"
        r"|eyj[a-z0-9_-]{8,}+\.[a-z0-9_-]{4,}+(?:\.[a-z0-9_-]{4,}+)?|hooks\.slack\.com/[a-z]{8,9}/[a-z0-9/]{16,}+)",
        needs=_LONG_WORD,
    ),
    _Kind(
        "[인증키]",
        r"(?:api[ _-]?key|access[_-]?key|secret|(?<!input[ _])(?<!output[ _])(?<!total[ _])token|passw(?:or)?d"
        r"|authorization|인증[ ]?키|API[ ]?키|비밀번호|토큰)"
        r"[\"'`]?[ ]?[:=은는][ ]?[\"'`]?(?:(?:bearer|basic)[ ])?"
        rf"(?P<data>(?=[^\s]{{0,64}}[0-9]|[a-z]{{24}}){_TOKEN}{{8,}}+)",
        needs=_LONG_WORD,
    ),
    _Kind(  # people have shorter ones than programs
        "[인증키]",
        rf"(?:{_PASSWORD.pattern})[\"'`]?[ ]?[:=은는][ ]?[\"'`]?(?P<data>(?=[^\s]{{0,16}}[0-9]){_TOKEN}{{4,}}+)",
        needs=_PASSWORD,
    ),
    _Kind(  # behind a blank neither a year or a number of something, nor a day, nor a method
        "[인증키]",
        rf"{_KOREAN_LABEL}[ ]{{1,2}}(?!{_ISO_DAY}|(?:sha|aes|md|rsa)-?[0-9])"
        rf"(?P<data>(?=[^\s]{{0,16}}[0-9]){_TOKEN}{{4,}}+)(?![년원명개건회자만억천])",
        needs=_PASSWORD,
    ),
    # scheme://user:password@host
    _Kind("[인증키]", r"(?<=://)[^\s/?#@:]{0,64}:(?P<data>[^\s/?#]{1,128})@", needs=_URL),
    _Kind("[인증키]", rf"(?<![a-z])(?:bearer|kakaoak)[ ]{{1,2}}(?P<data>{_TOKEN}{{12,}}+)", needs=_LONG_WORD),
    _Kind("[이메일]", rf"\"[^\"\n]{{1,64}}\"@(?:{_HOST}|{_KOREAN_HOST})", needs=_AT_SIGN),
    _Kind(
        "[이메일]",
        rf"(?<![\w.%+-])[\w.%+-]++(?:'[\w.%+-]++)?[ ]{{0,2}}@[ ]{{0,2}}(?:{_HOST}|{_KOREAN_HOST})",
        needs=_AT_SIGN,
    ),
    _Kind("[이메일]", rf"(?<![a-z0-9._%+-])[a-z0-9._%+-]++{_AT}(?:{_HOST}|{_KOREAN_HOST})", needs=_AT_SIGN),
    _Kind(
        "[주민등록번호]",
        rf"(?:{_label('주민(?:등록)?', '(?:등록)?번호')}|rrn{_NAMED})"
        rf"(?P<data>[0-9](?:[ \t./-]{{0,3}}[0-9*]){{12,14}}){_LAST_DIGITS}",
        needs=_OWNER,
    ),
    _Kind("[주민등록번호]", rf"뒷[ ]?자리{_NAMED}(?P<data>[1-8][0-9*]{{6}}){_LAST_DIGITS}", needs=_OWNER),
    _Kind("[주민등록번호]", rf"(?<![0-9]){_BIRTHDAY}{_GAP_OR_HYPHEN}[1-4][0-9*●xX]{{6}}{_LAST_DIGITS}"),
    _Kind("[외국인등록번호]", rf"(?<![0-9]){_BIRTHDAY}{_GAP_OR_HYPHEN}[5-8][0-9*●xX]{{6}}{_LAST_DIGITS}"),
    _Kind("[주민등록번호]", rf"(?<![0-9]){_BIRTHDAY}[1-4][0-9*]{{6}}{_LAST_DIGITS}", _is_resident),
    _Kind("[외국인등록번호]", rf"(?<![0-9]){_BIRTHDAY}[5-8][0-9*]{{6}}{_LAST_DIGITS}", _is_resident),
    _dated("[주민등록번호]", "12", "34"),
    _dated("[외국인등록번호]", "56", "78"),
    _Kind(
        "[운전면허번호]",
        r"(?<![0-9])(?:1[1-9]|2[0-8])(?P<cut>[-./·])[0-9]{2}(?P=cut)[0-9]{6}(?P=cut)[0-9]{2}" + _LAST_DIGITS,
    ),
    _Kind(
        "[운전면허번호]",
        r"(?:서울|부산|경기|강원|충북|충남|전북|전남|경북|경남|제주|대구|인천|광주|대전|울산)[ ]?"
        r"(?P<data>[0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{2})" + _LAST_DIGITS,
    ),
    _Kind(
        "[운전면허번호]",
        rf"{_label('(?:운전)?면허', '번호')}(?P<data>[0-9]{{2}}(?:{_GAP}?[0-9]{{2}}){{5}}){_LAST_DIGITS}",
    ),
    _Kind("[카드번호]", rf"(?<![0-9])[3-69][0-9]{{3}}(?P<cut>[ -])(?:[0-9]{{4}}(?P=cut)){{2}}[0-9]{{4}}{_LAST_DIGITS}"),
    _Kind("[카드번호]", rf"(?<![0-9])[2-69][0-9]{{3}}(?:{_GAP_OR_HYPHEN}[0-9]{{4}}){{3}}{_LAST_DIGITS}", _is_card),
    _Kind("[카드번호]", rf"(?<![0-9]){_CARD_START}[0-9]{{12}}{_LAST_DIGITS}", _is_card),
    _Kind("[카드번호]", rf"(?<![0-9])3[47][0-9]{{2}}{_GAP}?[0-9]{{6}}{_GAP}?[0-9]{{5}}{_LAST_DIGITS}", _is_card),
    _Kind(
        "[계좌번호]",
        rf"(?:{_BANK}{_UNTIL_ACCOUNT}(?![0-9]{{6}}[ ])|{_label('계좌', '번호', _UNTIL_ACCOUNT)})"
        rf"(?P<data>[0-9]{{10,14}}|[0-9]{{2,6}}(?:[ .-]{{1,2}}[0-9]{{1,8}}){{1,3}}){_LAST_DIGITS}",
        _is_account,
    ),
    _Kind(
        "[계좌번호]",
        rf"(?<![0-9-])(?P<data>[0-9]{{10,14}}|[0-9]{{2,6}}(?:-[0-9]{{1,7}}){{1,3}})"
        rf"[ ,(]{{0,3}}[가-힣a-z]{{0,6}}{_BANK}",
        _is_account,
    ),
    _Kind(
        "[전화번호]",
        rf"(?<![0-9]){_COUNTRY}1[016-9](?:{_REST}|{_ACROSS}|,[0-9]{{3,4}},[0-9]{{4}}|{_PAIRS}|[0-9]{{4}}{_GAP}[0-9]{{4}})"
        rf"{_LAST_DIGITS}",
    ),
    _Kind(
        "[전화번호]",
        rf"(?<![0-9])(?<![0-9][.,])(?:{_ABROAD}|\(?0)1[016-9]{_BROKEN}[0-9]{{3,4}}{_BROKEN}[0-9]{{4}}{_LAST_DIGITS}",
        needs=_LINE_OF_PHONE,
    ),
    _Kind("[전화번호]", rf"(?<![0-9])(?<![0-9][.-]){_COUNTRY}{_AREA}{_REST}{_LAST_DIGITS}"),
    _Kind(
        "[전화번호]",
        rf"(?<![0-9])(?:(?<![a-z])|(?<=tel)|(?<=hp)|(?<=phone))(?<![0-9][.,])(?:{_ABROAD}|0)"
        rf"(?:1[016-9]|{_AREA})[0-9]{{7,8}}(?![0-9a-z])",
    ),
    _Kind(
        "[전화번호]",
        rf"(?<![0-9-])(?:{_SERVICE}[ ]?-[ ]?[0-9]{{4}}|(?:1600|1800)-(?![0-9]{{2}}00)[0-9]{{4}})(?![0-9-])"
        # Beside other numbers two of four digits are prices.
        rf"|(?<![0-9.,-])(?<![0-9]{{3}}[ ]){_SERVICE}[ ][0-9]{{4}}(?![0-9%배-]|[.,][0-9]|[ ]?[0-9원])",
    ),
    # Without a label it is a rate of exchange.
    _Kind(
        "[전화번호]",
        rf"(?:번호(?!\])|(?<!\[)전화|센터|연락|문의|tel|phone){_NAMED}(?P<data>{_SERVICE}\.[0-9]{{4}})"
        r"(?![0-9%원-]|\.[0-9])",
    ),
    _Kind("[계좌번호]", rf"(?<![0-9a-z-])(?!{_ISO_DAY})[0-9]{{2,6}}(?:-[0-9]{{1,7}}){{2,3}}(?![0-9a-z-])", _is_account),
    _Kind(
        "[여권번호]",
        rf"(?<![0-9a-z])[msrodg](?!(?:19|20)[0-9]{{2}}{_MONTH_DAY})"
        r"(?:[ ]?[0-9]{8}|(?:[ ]{1,2}[0-9]){8}|[0-9]{3}[ ]?[a-z][ ]?[0-9]{4})(?![0-9a-z])",
    ),
    _Kind(
        "[여권번호]",
        _label("여권", "번호", r"[^0-9a-z\n]{0,10}")
        + r"(?P<data>[a-z]{1,2}[ -]?[0-9]{3,4}[ -]?[a-z]?[ -]?[0-9]{4})(?![0-9a-z])",
    ),
    _Kind(
        "[생년월일]",
        rf"{_label('생년월일|생일|출생(?:연월일|일자|일)?|birth(?:[ _-]?da(?:y|te))?|dob')}(?P<data>{_DATE})",
        needs=_OWNER,
    ),
    _Kind("[생년월일]", rf"(?<![0-9])(?P<data>{_DATE})[ ]?생(?![가-힣])", needs=_OWNER),
    _Kind("[IP 주소]", rf"(?<![0-9.])(?:{_OCTET}\.){{3}}{_OCTET}(?!\.?[0-9])", needs=_ADDRESS),
    _Kind(
        "[IP 주소]",
        r"(?<![0-9a-f]:)(?<![0-9a-z])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}"
        r"|[0-9a-f]{3,4}:(?:[0-9a-f]{1,4}:){0,5}(?::[0-9a-f]{1,4}){1,6})(?![0-9a-z:])",
        needs=_ADDRESS,
    ),
    # Digits one by one, each behind a gap.
    _Kind("[카드번호]", _one_by_one("{14,15}"), _is_card),
    _Kind("[주민등록번호]", _one_by_one("{12}"), lambda digits: bool(_JOINED_RESIDENT.fullmatch(digits))),
    _Kind(
        "[전화번호]",
        _one_by_one("{8,12}"),
        lambda digits: bool(_JOINED_PHONE.fullmatch(digits) or _MOBILE_WITHIN.search(digits)),
    ),
)

_DISGUISE = re.compile(r"[^\x00-\x7f가-힣ㄱ-ㅎㅏ-ㅠㅢㅣ]")  # signs that may be a digit, a dash or nothing in disguise
_INVISIBLE_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
# Letters and signs that are typed for another sign: ㅡ ー, ㆍ ‧, 。 ｡
_TYPED_FOR = {"\u3161": "-", "\u30fc": "-", "\u318d": "·", "\u2027": "·", "\u3002": ".", "\uff61": "."}
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_SPOKEN = {
    **dict(zip("공영일이삼사오육륙칠팔구", "001234566789", strict=True)),
    **dict(zip("〇零一二三四五六七八九", "00123456789", strict=True)),
}
_S = f"[{''.join(_SPOKEN)}]"
_D = f"[0-9{''.join(_SPOKEN)}]"
_SPOKEN_NUMBER = re.compile(
    rf"{_S}{{6}}{_GAP}?{_S}{{7}}|{_S}{{4}}(?:{_GAP}?{_S}{{4}}){{3}}"
    rf"|[공영〇零]{_S}{{1,2}}{_GAP}?{_S}{{3,4}}{_GAP}?{_S}{{4}}"
    rf"|[0공영〇零][1일一]{_D}{_GAP}?{_D}{{3,4}}{_GAP}?{_D}{{4}}"
    rf"|(?<![0-9a-z])[0o][1l][0-9o](?={_GAP}?[0-9]{{3,4}}{_GAP}?[0-9]{{4}}{_LAST_DIGITS})",
    re.IGNORECASE,
)
_AS_DIGITS = str.maketrans({**_SPOKEN, "o": "0", "O": "0", "l": "1", "L": "1"})
_MARGIN = 200  # how far around a part of a text is looked, so that nothing is cut in half at its edges
SHOWN = 20_000
"""Number of characters that are masked of a text whose beginning is shown: far more than any page or message shows."""


LABELS = frozenset(kind.label for kind in _KINDS if kind.label)
"""What stands in the place of personal data and keys."""


def masked(text: str, start: int = 0, end: int | None = None) -> str:
    """The characters of `text` from `start` to `end`, with personal data replaced by labels such as `[전화번호]`.

    Everything else is unchanged. Full-width, circled and spoken digits, other dashes, invisible characters between
    digits and signs in the escapes of URLs, HTML and JSON are recognised. A match that crosses an edge of the part is
    masked as a whole.
    """
    end = len(text) if end is None else min(end, len(text))
    first = max(0, start - _MARGIN)
    signs, origins = unescaped(text[first : end + _MARGIN])
    plain, places = _undisguised(signs)
    pieces = []
    for label, begin, stop in _found(plain):
        begins, stops = first + origins[places[begin]], first + origins[places[stop - 1] + 1]
        if stops > start and begins < end:
            pieces += [text[start:begins], label]
            start = stops
    return "".join([*pieces, text[start:end]])


def is_invisible(char: str) -> bool:
    """Whether a character is invisible: format controls, fillers, variation selectors, tags."""
    return (
        unicodedata.category(char) in ("Cf", "Cc", "Cs", "Zl", "Zp")
        or char in _INVISIBLE_LETTERS
        or "\ufe00" <= char <= "\ufe0d"  # FE0E and FE0F stand in ordinary emoji
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _found(plain: str) -> list[tuple[str, int, int]]:
    """Labels and positions in order; of overlapping kinds the earlier one wins."""
    found = []
    taken = bytearray(len(plain))
    for kind in _kinds_with(tuple(needs for needs in _NEEDS if needs.search(plain))):
        for match in kind.pattern.finditer(plain):
            begin, stop = match.span("data" if "data" in kind.pattern.groupindex else 0)
            if not any(taken[begin:stop]) and kind.check(re.sub("[^0-9]", "", plain[begin:stop]) or "-"):
                taken[begin:stop] = b"\x01" * (stop - begin)
                if kind.label:
                    found.append((kind.label, begin, stop))
    return sorted(found, key=lambda one: one[1])


@cache
def _kinds_with(held: tuple[re.Pattern[str], ...]) -> tuple[_Kind, ...]:
    """The kinds that can occur in a text that contains these, in order."""
    return tuple(kind for kind in _KINDS if kind.needs in held)


def _undisguised(text: str) -> tuple[str, range | list[int]]:
    """The text in plain characters, and the original position of each."""
    plain: str = text
    origins: range | list[int] = range(len(text))
    if _DISGUISE.search(text):
        signs = [(shown, place) for place, char in enumerate(text) if (shown := _plain(char))]
        plain, origins = "".join(shown for shown, _ in signs), [place for _, place in signs]
    return _SPOKEN_NUMBER.sub(lambda match: match.group().translate(_AS_DIGITS), plain), origins


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    if char.isascii():
        return char
    if char in _TYPED_FOR:
        return _TYPED_FOR[char]
    if ord(char) in _FULL_WIDTH:
        return chr(ord(char) - 0xFEE0)
    if (digit := unicodedata.digit(char, None)) is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    if category == "Zs":
        return " "
    same = unicodedata.normalize("NFKC", char)  # a letter in bold, a small at sign
    return "" if is_invisible(char) else same if same.isascii() and len(same) == 1 else char
