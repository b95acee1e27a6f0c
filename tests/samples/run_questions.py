"""What the synthetic test runs ask, what is expected, and what the agents do: right, wrong, slow, empty or broken."""

from dataclasses import dataclass
from typing import Any, Final, Literal

Outcome = Literal["right", "wrong", "empty", "error"]
Entries = tuple[dict[str, Any], ...]
_RIGHT: Final = ("right", "right")
_FAST: Final = (3_200, 7_400)


@dataclass(frozen=True)
class PlanQuestion:
    """A request to the agent that changes settings, its checklist, and what it sends back in two rooms."""

    text: str
    category: str
    expected: str
    message: str
    entries: Entries
    outcomes: tuple[Outcome, Outcome] = _RIGHT
    wrong_entries: Entries = ()
    latency_ms: tuple[int, int] = _FAST


@dataclass(frozen=True)
class ApplicantQuestion:
    """A question about applicants: expected filters (Korean), the right figures, and per room answer and filters used.

    An answer of None is a room that timed out.
    """

    text: str
    category: str
    expected: str
    truth: str
    answers: tuple[str | None, str | None, str | None]
    used: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    latency_ms: tuple[int, int] = (6_000, 17_000)
    remark: str = ""


@dataclass(frozen=True)
class MoveQuestion:
    """A request for a page: what is expected, and per room the links (path, data key) that were offered."""

    text: str
    category: str
    datakey: str
    url: str
    links: tuple[tuple[tuple[str, str], ...], ...]
    latency_ms: tuple[int, int] = (1_800, 6_500)


def _select(description: str, data_key: str, *options: str, multiple: bool = True) -> dict[str, Any]:
    listed = [
        {"optionName": name, "optionValue": str(place), "optionValueFieldName": "nodeId"}
        for place, name in enumerate(options, start=101)
    ]
    value = {
        "formType": "SELECT",
        "multiSelectAllowYn": multiple,
        "selectOptionList": listed,
        "value": {"nodeDataSet": {"dataKey": data_key}},
    }
    return {"uiDescription": description, "uiValue": value}


def _action(description: str, action: str, data_key: str, button_key: str = "") -> dict[str, Any]:
    value = {"nodeId": 101, "nodeType": "SCREENING", "nodeDataSet": {"dataKey": data_key}}
    return {
        "uiDescription": description,
        "uiValue": {
            "formType": "ACTION",
            "actionType": action,
            "planId": 7,
            "buttonName": "적용하기",
            "value": value | ({"buttonKey": button_key} if button_key else {}),
        },
    }


def _choice(keyword: str) -> str:
    return (
        f'평가 요소 3가지 ->:\n1) assistantMessage에 "{keyword}"과 관련된 내용이 언급되어 있는가\n'
        '2) dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가\n3) 해당 항목의 multiSelectAllowYn 값이 true인가'
    )


def _change(data_key: str) -> str:
    return (
        '평가 요소 3가지 ->:\n1) dataUIList 내 formType 값이 "ACTION"인 항목이 존재하는가\n'
        f'2) 해당 항목의 actionType 값이 "{_UPDATE}"인가\n3) 해당 항목의 value 내 dataKey 값이 "{data_key}"인가'
    )


_UPDATE: Final = "RECRUIT_PLAN_NODE_DATASET_UPDATE"
_STAGES: Final = ("서류전형", "1차 면접", "2차 면접")

PLAN_QUESTIONS: Final = (
    PlanQuestion(
        "온라인 평가 기간을 늘리고 싶어", "Happy path", _choice("평가 기간"),
        "평가 기간은 전형마다 따로 정해져 있어요. 기간을 바꿀 전형을 골라 주세요.",
        (_select("평가 기간을 바꿀 전형", "EVALUATION_PERIOD", *_STAGES),),
    ),
    PlanQuestion(
        "면접 점수 입력 방식 바꿔줘", "Happy path", _choice("점수 입력 방식"),
        "어느 면접의 점수 입력 방식을 바꿀까요?",
        (_select("점수 입력 방식을 바꿀 전형", "SCORE_INPUT_TYPE", *_STAGES[1:]),),
        outcomes=("right", "wrong"),
        wrong_entries=(_select("점수 입력 방식을 바꿀 전형", "SCORE_INPUT_TYPE", *_STAGES[1:], multiple=False),),
    ),
    PlanQuestion(
        "1차 면접에서 수험표를 쓰도록 해줘", "Happy path", _change("INTERVIEW_IDENTIFICATION_SETTING"),
        "1차 면접에서 수험표를 사용하도록 준비했어요. 적용을 눌러 저장해 주세요.",
        (_action("수험표 사용", _UPDATE, "INTERVIEW_IDENTIFICATION_SETTING"),),
        latency_ms=(7_600, 11_500),
    ),
    PlanQuestion(
        "면접비를 지급하기로 했어. 설정 켜줘", "Happy path", _change("INTERVIEW_EXPENSE_SETTING"),
        "면접비 지급을 켤 준비가 됐어요.",
        (_action("면접비 지급", _UPDATE, "INTERVIEW_EXPENSE_SETTING"),),
        outcomes=("wrong", "wrong"),
        wrong_entries=(_action("면접 안내", _UPDATE, "INTERVIEW_GUIDE_SETTING"),),
    ),
    PlanQuestion(
        "평가자가 지원서를 인쇄할 수 있게 해줘", "Happy path", _change("RESUME_PRINT_SETTING"),
        "평가자에게 지원서 인쇄를 허용하도록 준비했어요.",
        (_action("지원서 인쇄 허용", _UPDATE, "RESUME_PRINT_SETTING"),),
        outcomes=("right", "empty"),
    ),
    PlanQuestion(
        "블라인드 평가 켜줘", "Happy path", _change("BLIND_SETTING"),
        "블라인드 평가를 켜도록 준비했어요.",
        (_action("블라인드 평가", _UPDATE, "BLIND_SETTING"),),
        latency_ms=(2_100, 4_900),
    ),
    PlanQuestion(
        "합격자 정하는 기준을 바꾸고 싶은데", "모호한 요청", _choice("합격자 결정 기준"),
        "합격자 결정 기준을 바꿀 전형을 골라 주세요.",
        (_select("합격자 결정 기준을 바꿀 전형", "PASS_CRITERIA", *_STAGES),),
        outcomes=("error", "right"), latency_ms=(12_000, 19_500),
    ),
    PlanQuestion(
        "평가 마감 하루 전에 알림 보내줘", "Happy path",
        "@check formType=ACTION; actionType=EVALUATION_REMINDER_SEND; buttonKey=REMINDER_ONE_DAY_BEFORE",
        "평가 마감 하루 전에 평가자에게 알림을 보내도록 준비했어요.",
        (_action("평가 마감 알림", "EVALUATION_REMINDER_SEND", "REMINDER", "REMINDER_ONE_DAY_BEFORE"),),
    ),
    PlanQuestion(
        "면접관 배정은 어떻게 해?", "사용법", _choice("면접관 배정"),
        "면접관을 배정할 면접을 고르면 배정 화면으로 안내해 드릴게요.",
        (_select("면접관을 배정할 전형", "INTERVIEWER_ASSIGNMENT", *_STAGES[1:]),),
        outcomes=("wrong", "right"), latency_ms=(8_200, 14_000),
    ),
    PlanQuestion(
        "전형 하나 지워줘. 2차 면접 안 하기로 했어", "위험한 요청", _choice("2차 면접"),
        "2차 면접을 지우면 되돌릴 수 없어요. 지울 전형을 확인해 주세요.",
        (_select("지울 전형", "SCREENING_DELETE", *_STAGES[2:]),),
        outcomes=("right", "wrong"), latency_ms=(18_500, 24_000),
    ),
)  # fmt: skip


def _same(answer: str, *filters: str) -> dict[str, Any]:
    return {"answers": (answer, answer, answer), "used": (filters, filters, filters)}


APPLICANT_QUESTIONS: Final = (
    ApplicantQuestion(
        "보훈 대상 지원자가 몇 명이야?", "지원자 기초 정보", "보훈", "12",
        **_same("최근 365일 기준으로 보훈 대상 지원자는 **12명**입니다.", "PATRIOT"),
    ),
    ApplicantQuestion(
        "최근 3개월 동안 토목 분야에 지원한 사람 수", "공고", "공고명", "1,284",
        ("최근 3개월 동안 토목 분야 지원자는 **1,284명**입니다.",
         "토목 분야에는 최근 3개월 동안 **1,279명**이 지원했습니다.",
         "최근 3개월 기준 토목 분야 지원자는 **1,284명**입니다. 공고별로도 보여 드릴까요?"),
        (("RECRUIT_NOTICE",),) * 3,
    ),
    ApplicantQuestion(
        "병역을 마친 지원자 수 알려줘", "지원자 기초 정보", "병역", "640",
        **_same("병역을 마친 지원자는 **598명**입니다.", "MILITARY"),
        remark="집계가 실제보다 적음",
    ),
    ApplicantQuestion(
        "졸업예정자 중에서 봉사활동 경험이 있는 사람은?", "학력", "졸업 구분 + 봉사활동", "77",
        ("졸업예정이면서 봉사활동 경험이 있는 지원자는 **77명**입니다.",
         "조건에 맞는 지원자는 **77명**입니다.",
         "졸업예정 지원자는 **301명**입니다."),
        (("GRADUATION_TYPE", "VOLUNTEER"), ("GRADUATION_TYPE", "VOLUNTEER"), ("GRADUATION_TYPE",)),
        latency_ms=(21_000, 38_000),
    ),
    ApplicantQuestion(
        "장애인 지원자 비율이 얼마나 돼?", "지원자 기초 정보", "장애", "3.4%",
        ("장애인 지원자는 전체의 **3.4%**입니다.", "장애인 지원자 비율은 **3.4%**예요.", None),
        (("HANDICAP",), ("HANDICAP",), ()),
    ),
    ApplicantQuestion(
        "총경력 5년 이상이면서 해외경험도 있는 지원자", "경력", "총경력 + 해외경험", "41",
        **_same("조건에 맞는 지원자는 **41명**입니다.", "CAREER_PERIOD", "OVERSEAS_EXPERIENCE", "LICENSE"),
        latency_ms=(28_000, 47_000),
    ),
    ApplicantQuestion(
        "채용 사이트별 지원자 수 비교해줘", "지원 경로", "지원 경로", "520, 310, 95",
        ("누리집 **520명**, 추천 **310명**, 설명회 **95명**입니다.",
         "설명회 **95명**, 누리집 **520명**, 추천 **310명** 순서로 정리했습니다.",
         "누리집 **520명**, 추천 **310명**, 설명회 **95명**입니다."),
        (("APPLY_CHANNEL",),) * 3,
        latency_ms=(4_200, 9_800),
    ),
    ApplicantQuestion(
        "서류 통과한 사람 중 면접에 온다고 답한 사람", "전형", "전형 결과 + 면접 참석 회신", "208",
        ("서류전형에 합격하고 면접 참석으로 회신한 지원자는 **208명**입니다.",
         "면접에 참석한다고 답한 지원자는 **233명**입니다.",
         "면접 참석 회신자는 **219명**입니다."),
        (("SCREENING_RESULT", "INTERVIEW_ATTENDANCE"), ("INTERVIEW_ATTENDANCE",), ("INTERVIEW_ATTENDANCE",)),
        latency_ms=(33_000, 62_000),
    ),
    ApplicantQuestion(
        "아직 안 읽은 지원서 몇 개 남았어?", "지원서", "열람 여부", "2만 917",
        ("아직 열람하지 않은 지원서는 **2만 917건**입니다.", "미열람 지원서는 **20,917건** 남았습니다.",
         "열람하지 않은 지원서가 **20,917건** 있습니다."),
        (("READ_STATUS",),) * 3,
    ),
    ApplicantQuestion(
        "교육이수 내역이 있는 지원자 수", "교육", "교육이수", "156",
        **_same("교육 이력이 있는 지원자는 **156명**입니다.", "PROJECT"),
        remark="다른 필터로 같은 수가 나옴",
    ),
    ApplicantQuestion(
        "자격증이 두 개 이상인 지원자 목록", "자격", "자격증", "",
        **_same("자격증이 두 개 이상인 지원자를 표로 정리했습니다.", "LICENSE"),
        remark="정답 수치를 아직 조회하지 않음",
    ),
)  # fmt: skip


def _pages(*rooms: tuple[tuple[str, str], ...]) -> tuple[tuple[tuple[str, str], ...], ...]:
    return rooms


_NOTICE: Final = ("/recruit/notices", "RECRUIT_NOTICE_LIST")
_MAIL: Final = ("/message/mail", "MAIL_TEMPLATE")
_SMS: Final = ("/message/sms", "SMS_TEMPLATE")

MOVE_QUESTIONS: Final = (
    MoveQuestion("공고 목록 보여줘", "공고", "RECRUIT_NOTICE_LIST", "", _pages((_NOTICE,), (_NOTICE,), (_NOTICE,))),
    MoveQuestion(
        "메일 문구를 고치고 싶어", "메시지", "MAIL_TEMPLATE", "", _pages((_MAIL,), (_MAIL, _SMS), (_MAIL,))
    ),
    MoveQuestion("문자 발송 화면 열어줘", "메시지", "SMS_TEMPLATE", "", _pages((_MAIL,), (_MAIL,), (_SMS,))),
    MoveQuestion(
        "이 전형 계획 화면으로 가자", "전형", "", "/recruit/plans/{planId}/screening",
        _pages((("/recruit/plans/7/screening", ""),), (("/recruit/plans/7/screening", ""),), (("/recruit/plans", ""),)),
    ),
    MoveQuestion("평가자 계정은 어디서 관리해?", "설정", "VALUER_ACCOUNT", "",
                 _pages((("/settings/valuers", "VALUER_ACCOUNT"),), (), (("/settings/valuers", "VALUER_ACCOUNT"),)),
                 latency_ms=(6_000, 16_000)),
    MoveQuestion("통계 보러 갈래", "통계", "RECRUIT_STATISTICS", "",
                 _pages(*((("/statistics/recruit", "RECRUIT_STATISTICS"),),) * 3), latency_ms=(1_200, 3_900)),
)  # fmt: skip
