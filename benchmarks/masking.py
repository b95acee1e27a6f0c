"""Recall and false positives of masking on generated personal data."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from benchmarks.report import Scale, table
from scoring.judging.masking import masked
from tests.samples.harmless_numbers import HARMLESS_FORMS, harmless_texts
from tests.samples.personal_data import PERSONAL_FORMS, is_hidden, personal_texts


def masking(scale: Scale) -> str:
    """The share of masked texts by kind: it should be all of the personal data and none of the other numbers."""
    count = scale.texts_a_kind
    personal = [
        _line(kind, ((form, is_hidden(one, masked(one.text))) for form, one in personal_texts(kind, count)), worst=min)
        for kind in PERSONAL_FORMS
    ]
    harmless = [
        _line(kind, ((form, masked(text) != text) for form, text in harmless_texts(kind, count)), worst=max)
        for kind in HARMLESS_FORMS
    ]
    return table(
        f"Masking: {count:,} texts a kind (target: 99.5% masked of personal data, at most 0.1% of other numbers)",
        ("", "forms", "masked", "worst form"),
        [*personal, *harmless],
        "The forms stand in `tests/samples/personal_data.py` and `harmless_numbers.py`: plain, split, spoken, "
        "full-width, circled, in sentences beside stock codes, prices, dates and order numbers.",
    )


def _line(kind: str, found: Iterable[tuple[str, bool]], worst: Callable[..., str]) -> Sequence[str]:
    texts, masked_texts = Counter[str](), Counter[str]()
    for form, is_masked in found:
        texts[form] += 1
        masked_texts[form] += is_masked
    form = worst(texts, key=lambda one: masked_texts[one] / texts[one])
    share = masked_texts.total() / texts.total()
    return kind, str(len(texts)), f"{share:.2%}", f"{form}: {masked_texts[form] / texts[form]:.2%}"
