"""What is one question asked about several companies, and what is not. Names are invented."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.templates import question_template

GOLDEN = {
    "{종목} {종목코드} 종합적으로 분석해줘": [
        "하늘전자(005930)를 종합적으로 분석해줘",
        "가온은행 (024110)을 종합적으로 분석해줘",
        "KODAX 코스닥150레버리지(233740)를 종합적으로 분석해줘.",
        "하늘전자005930를 종합적으로 분석해줘??",
    ],
    "{종목} 목표주가": [
        "하늘전자 목표주가",
        "가온투자증권목표주가",
        "모란재중공업  목표주가?",
        "하늘 바이오 목표주가!",
    ],
    "{종목} 주가 동향 알려줘": ["하늘전자 주가 동향 알려줘", "가온뜰로보틱스 주가 동향 알려줘~"],
    "{숫자}년 {종목} 주가전망": ["2026년 오름테크놀로지 주가전망", "2025년 하늘전자주가전망?"],
    "{숫자}년 {숫자}분기 {종목} 실적": ["2025년 3분기 하늘전자 실적"],
    "{종목} {숫자}분기 매출": ["새솔미식품 3분기 매출", "하늘전자 4분기 매출"],
    "{종목} {종목코드} {종목} PER PBR 비교 분석해줘": ["하늘전자(005930)와 가온전자 PER PBR 비교 분석해줘"],
    "{종목} 애널리스트 목표주가 현황은요": ["대한솔선 애널리스트 목표주가 현황은요?"],
    "{종목} 매수 시점을 알려줘": ["한결스페이스 매수 시점을 알려줘"],
    "{종목} 지금 사도 돼": ["하늘전자 지금 사도 돼?", "새솔미식품 지금 사도 돼"],
    "{종목} 팔까요": ["하늘전자 팔까요?", "한결스페이스 팔까요"],
    "오늘 살까": ["오늘 살까?"],
    "무엇을 사야 하나요": ["무엇을 사야 하나요?"],
    "{종목코드} 배당 현황 조회": ["005930 배당 현황 조회", "(686973) 배당 현황 조회"],
    "{종목코드}": ["005930", "(686973)?"],
    "{숫자}원으로 살만한 주식": ["100000원으로 살만한 주식", "50,000원으로 살만한 주식"],
    "{낱말}": ["가온공업", "isa", "담보대출", "파트로", "ㅋㅋ", "ㅎㅎ!", "ㅠㅠ ㅋㅋ"],
    "{숫자}": ["5", "1.5"],
    "최근 {숫자}개월 주가 동향": ["최근 3개월 주가 동향", "최근 12개월 주가 동향"],
    "국내 반도체 관련 고배당주 알려줘": ["국내 반도체 관련 고배당주 알려줘"],
    "우주 관련 뉴스 있나요": ["우주 관련 뉴스 있나요?"],
    "배당락 날짜": ["배당락 날짜"],
    "분석": ["분석"],
    "": ["", " ", "?!", "…?"],
}


@pytest.mark.parametrize(("template", "question"), [(name, text) for name, texts in GOLDEN.items() for text in texts])
def test_question_template_of_a_golden_question(template: str, question: str) -> None:
    assert question_template(question, stocks=True) == template


@pytest.mark.parametrize(
    ("question", "template"),
    [
        ("주문번호 482913 배송 언제 와요?", "주문번호 {숫자} 배송 언제 와요"),
        ("운동화 살까 말까 고민이에요", "운동화 살까 말까 고민이에요"),
        ("매장 매출 분석 좀 해줘", "매장 매출 분석 좀 해줘"),
        ("482913", "{숫자}"),
        ("환불", "{낱말}"),
    ],
)
def test_question_template_of_another_bot_takes_nothing_for_a_stock(question: str, template: str) -> None:
    assert question_template(question, stocks=False) == template


@given(st.text(max_size=400), st.booleans())
def test_question_template_has_no_number_and_one_line(text: str, stocks: bool) -> None:
    template = question_template(text, stocks=stocks)
    assert not set(template) & set("0123456789\n\t")
    assert template == template.strip()


@pytest.mark.parametrize("sign", ["?", "0", "가", "A", "0,", "주가", " (", "와 "])
def test_question_template_of_a_megabyte_takes_no_longer_than_a_short_one(sign: str) -> None:
    def cost(text: str) -> float:
        found = []
        for _ in range(3):
            began = time.process_time()
            for _ in range(20):
                question_template(text, stocks=True)
            found.append(time.process_time() - began)
        return min(found)

    assert cost(sign * 500_000) < 10 * cost(sign * 5_000)
