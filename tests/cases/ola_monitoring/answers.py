"""Golden rows about the answer: metrics, A-Score, grade."""

from unicodedata import normalize

from tests.cases.ola_monitoring.golden import Golden, answer

NAN = float("nan")

VOLUME = [
    *(
        answer(f"{tokens:g} output tokens", "5.2 (1)", "답변", output_tokens=tokens, a_volume=points)
        for tokens, points in [
            *((1200.0, 25), (1199.0, 22), (800.0, 22), (799.0, 18), (400.0, 18), (399.0, 14), (200.0, 14)),
            *((199.0, 10), (101.0, 10), (100.0, 5), (61.0, 5), (60.0, 2), (31.0, 2), (30.0, 0), (1.0, 0), (0.0, 0)),
            *((1199.5, 22), (100.999, 5), (0.5, 0), (1e300, 25), (5e-324, 0)),
        ]
    ),
    answer("no output tokens known", "5.2 (1), SPEC 1.2", "답변", output_tokens=None, a_volume=0),
    answer("output tokens that are no number", "5.2 (1), SPEC 1.2", "답변", output_tokens=NAN, a_volume=0),
]

EFFICIENCY = [
    *(
        answer(
            f"{output:g} of {given:g} tokens",
            "5.2 (4)",
            "답변",
            input_tokens=given,
            output_tokens=output,
            token_ratio=ratio,
            a_efficiency=points,
        )
        for given, output, ratio, points in [
            *((1000.0, 200.0, 0.2, 15), (1000.0, 199.0, 0.199, 12), (1000.0, 150.0, 0.15, 12)),
            *((1000.0, 149.0, 0.149, 8), (1000.0, 100.0, 0.1, 8), (1000.0, 99.0, 0.099, 4)),
            *((1000.0, 50.0, 0.05, 4), (1000.0, 49.0, 0.049, 0), (15.0, 3.0, 0.2, 15), (1000.0, 0.0, 0.0, 0)),
            *((0.0, 300.0, None, 0), (0.0, 0.0, None, 0), (1e-300, 1e300, None, 0), (1e300, 1e-300, 0.0, 0)),
        ]
    ),
    answer("no input tokens known", "5.2 (4)", "답변", input_tokens=None, token_ratio=None, a_efficiency=0),
    answer("input tokens that are no number", "5.2 (4)", "답변", input_tokens=NAN, token_ratio=None, a_efficiency=0),
    answer("no tokens known", "5.2 (4)", "답변", output_tokens=None, token_ratio=None, a_efficiency=0),
]

STRUCTURE = [
    answer("nothing structured", "5.2 (2)", "답변", a_structure=0, answer_lines=1, answer_has_table=False),
    answer("empty answer", "5.2 (2)", "", a_structure=0, answer_lines=1, answer_length=0),
    answer("table", "5.2 (2)", "답변 |가|나|", a_structure=8, answer_has_table=True),
    answer("table of empty cells", "5.2 (2)", "답변 |||", a_structure=8, answer_has_table=True),
    answer("two bars", "5.2 (2)", "답변 |가|", a_structure=0, answer_has_table=False),
    answer("three bars on two lines", "5.2 (2)", "답변 |가|\n나|", a_structure=0, answer_has_table=False),
    answer("three bars around a CR", "5.2 (2)", "답변 |가\r|나|", a_structure=8, answer_has_table=True),
    answer("three bars around a line separator", "5.2 (2)", "답변 |가\u2028|나|", a_structure=8, answer_has_table=True),
    answer("full-width bars", "5.2 (2)", "답변 ｜가｜나｜", a_structure=0, answer_has_table=False),
    answer("bold", "5.2 (2)", "답변 **가**", a_structure=5, answer_has_bold=True),
    answer("four stars are bold", "5.2 (2)", "답변 ****", a_structure=5, answer_has_bold=True),
    answer("three stars", "5.2 (2)", "답변 ***", a_structure=0, answer_has_bold=False),
    answer("bold over two lines", "5.2 (2)", "답변 **가\n나**", a_structure=0, answer_has_bold=False),
    answer("bold at the start is a bullet too", "5.2 (2)", "**가**", a_structure=9),
    *(answer(f"bullet {sign}", "5.2 (2)", f"{sign} 가", a_structure=4) for sign in "-•*"),
    *(answer(f"bullet {sign} on the second line", "5.2 (2)", f"가\n{sign}나", a_structure=4) for sign in "-•*"),
    answer("bullet after CRLF", "5.2 (2)", "가\r\n- 나", a_structure=4),
    answer("bullet after CR", "5.2 (2)", "가\r- 나", a_structure=0),
    answer("indented bullet", "5.2 (2)", " - 가\n - 나", a_structure=0),
    answer("bullet after a byte order mark", "5.2 (2)", "\ufeff- 가", a_structure=0),
    answer("other bullets", "5.2 (2)", "· 가\n– 나\n‣ 다", a_structure=0),
    answer("ten line breaks", "5.2 (2)", "가" + "\n" * 10, a_structure=5, answer_lines=11),
    answer("nine line breaks", "5.2 (2)", "가" + "\n" * 9, a_structure=3, answer_lines=10),
    answer("five line breaks", "5.2 (2)", "가" + "\n" * 5, a_structure=3, answer_lines=6),
    answer("four line breaks", "5.2 (2)", "가" + "\n" * 4, a_structure=0, answer_lines=5),
    answer("ten CR are no line breaks", "5.2 (2)", "가" + "\r\x0b\u2028\x85" * 10, a_structure=0, answer_lines=1),
    answer("ten CRLF", "5.2 (2)", "가" + "\r\n" * 10, a_structure=5, answer_lines=11),
    answer("rule", "5.2 (2)", "가 --- 나", a_structure=3),
    answer("two hyphens", "5.2 (2)", "가 -- 나", a_structure=0),
    answer("rule at the start is a bullet too", "5.2 (2)", "---", a_structure=7),
    *(
        answer(f"section of {mark!r}", "5.2 (2)", f"가\n{mark}나", a_structure=points)
        for mark, points in [
            *(("# ", 3), ("## ", 3), ("### ", 3), ("#### ", 0), ("#", 0), ("#\t", 3), ("#\r", 3), ("#\f", 3)),
            *(("#\n", 3), ("#\v", 0), ("#\u00a0", 0), ("#\u3000", 0), ("#\u200b", 0), (" # ", 0)),
        ]
    ),
    answer("section on the first line", "5.2 (2)", "# 가", a_structure=0),
    answer("all of structure", "5.2 (2)", "**가** |나|다|\n\n\n\n\n\n\n\n\n\n---", a_structure=25),
]

DATA = [
    answer("no data", "5.2 (3)", "답변", a_data=0, answer_has_number=False, answer_has_date=False),
    answer("grouped number", "5.2 (3)", "1,234", a_data=8, answer_has_number=True),
    answer("grouped number in a longer one", "5.2 (3)", "12345,678", a_data=8, answer_has_number=True),
    answer("group of two", "5.2 (3)", "1,23", a_data=0, answer_has_number=False),
    answer("no digit before the comma", "5.2 (3)", ",234", a_data=0, answer_has_number=False),
    answer("full-width comma", "5.2 (3)", "1，234", a_data=0, answer_has_number=False),
    answer("grouped full-width digits", "5.2 (3)", "１,２３４", a_data=0, answer_has_number=False),
    answer("date", "5.2 (3)", "2026-02-13", a_data=5, answer_has_date=True),
    answer("date with slashes", "5.2 (3)", "2026/02-13", a_data=5, answer_has_date=True),
    answer("year and month", "1.2 M11", "2026-02", a_data=0, answer_has_date=True),
    answer("date with dots", "5.2 (3)", "2026.02.13", a_data=0, answer_has_date=False),
    answer("date without zeros", "5.2 (3)", "2026-2-13", a_data=0, answer_has_date=False),
    *(answer(f"market {word}", "5.2 (3)", f"가 {word}", a_data=4) for word in ("KOSPI", "KOSDAQ", "코스피", "코스닥")),
    answer("markets are case-sensitive", "5.2 (3)", "Kospi", a_data=0),
    answer("won", "5.2 (3)", "회원", a_data=4),
    answer("percent", "5.2 (3)", "%", a_data=4),
    answer("full-width percent and the won sign", "5.2 (3)", "％ ₩", a_data=0),
    answer("stock code", "5.2 (3)", "005930", a_data=4),
    answer("five digits in the answer", "5.2 (3)", "00593", a_data=0),
    answer("full-width stock code", "5.2 (3)", "００５９３０", a_data=0),
    answer("all of data", "5.2 (3)", "1,234원 2026-02-13 코스피 005930", a_data=25),
]

LAW, FINANCE, STOCKS = "죄송합니다. 저는 법률", "죄송합니다. 저는 금융", "죄송합니다. 저는 주식"
TOO_BROAD, NOT_UNDERSTOOD = "질문의 범위가 너무 넓어", "입력하신 내용을 정확히 이해하지 못했습니다"
NON_REFUSAL = [
    answer("template refusal of advice", "5.2 (5)", LAW, a_non_refusal=0, answer_has_apology=True),
    answer("template refusal of a domain", "5.2 (5)", FINANCE, a_non_refusal=0, answer_has_apology=True),
    *(
        answer(f"template refusal after {lead!r}", "5.2 (5)", lead + LAW, a_non_refusal=0, answer_has_apology=True)
        for lead in (">", "> ", ">\n", " ", "\t\r\n\f", ">   ")
    ),
    *(
        answer(f"no template after {lead!r}", "5.2 (5)", lead + LAW, a_non_refusal=8, answer_has_apology=False)
        for lead in (">>", " >", "안내: ", "\u00a0", "\u3000", "\v", "\ufeff", "\u200b", "안내\n")
    ),
    answer("template without its full stop", "5.2 (5)", "죄송합니다, 저는 법률", a_non_refusal=8),
    answer("template of another topic is an apology", "5.2 (5)", STOCKS, a_non_refusal=8, answer_has_apology=True),
    answer("template in NFD is none", "5.2 (5)", normalize("NFD", LAW), a_non_refusal=10, answer_has_apology=False),
    answer("too broad, anywhere", "5.2 (5)", f"음, {TOO_BROAD} 답하기", a_non_refusal=0),
    answer("not understood, anywhere", "5.2 (5)", f"음, {NOT_UNDERSTOOD}.", a_non_refusal=0),
    answer("no refusal", "5.2 (5)", "답변", a_non_refusal=10),
    *(
        answer(f"apology with {tokens} tokens", "5.2 (5)", "가 죄송", output_tokens=tokens, a_non_refusal=points)
        for tokens, points in [
            (0.0, 2),
            (99.0, 2),
            (99.5, 2),
            (100.0, 10),
            (199.0, 10),
            (200.0, 8),
            (None, 10),
            (NAN, 10),
        ]
    ),
    *(
        answer(f"no data with {tokens} tokens", "5.2 (5)", "제공되지 않", output_tokens=tokens, a_non_refusal=points)
        for tokens, points in [(0.0, 10), (199.0, 10), (200.0, 7), (None, 10)]
    ),
    *(
        answer(
            f"apology without data with {tokens} tokens",
            "5.2 (5)",
            "죄송하지만 제공되지 않습니다",
            output_tokens=tokens,
            a_non_refusal=points,
        )
        for tokens, points in [(99.0, 2), (100.0, 10), (200.0, 7)]
    ),
    answer("template with NULL tokens", "5.2 (5), SPEC 1.2", LAW, output_tokens=None, a_non_refusal=0),
    answer("too broad with NULL tokens", "5.2 (5), SPEC 1.2", TOO_BROAD, output_tokens=None, a_non_refusal=0),
]

GRADES = [
    *(
        answer(
            f"{score} points are grade {grade}",
            "5.3",
            text,
            input_tokens=given,
            output_tokens=output,
            a_score=score,
            a_grade=grade,
        )
        for score, grade, text, given, output in [
            (85, "A", "답변 |가|나| **굵게** 1,234 2026-02-13 KOSPI % 005930", 8000.0, 1200.0),
            (84, "B", "답변 |가|나| **굵게** 1,234 2026-02-13 KOSPI % ---", 8000.0, 1200.0),
            (65, "B", "답변 |가|나| **굵게** 1,234 %", 8000.0, 800.0),
            (64, "C", "답변 **굵게** 1,234 %", 8000.0, 1200.0),
            (40, "C", "답변", 8000.0, 800.0),
            (39, "D", "답변 ---", 16000.0, 800.0),
            (20, "D", "답변 1,234", 1000.0, 31.0),
            (19, "F", "답변", 1000.0, 61.0),
        ]
    ),
    answer(
        "the best answer",
        "5.1",
        "**1,234원** |나|2026-02-13|\n\n\n\n\n\n\n\n\n\n---코스피 005930",
        input_tokens=6000.0,
        output_tokens=1200.0,
        a_score=100,
        a_grade="A",
    ),
    answer("the worst answer", "5.1", LAW, output_tokens=0.0, a_score=0, a_grade="F"),
]

ANSWERS: list[Golden] = [*VOLUME, *EFFICIENCY, *STRUCTURE, *DATA, *NON_REFUSAL, *GRADES]
