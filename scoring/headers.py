"""Names of columns, and other cells, as people see them."""

from unicodedata import normalize

_BLANKS = (*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x205F, 0x3000)
_WITHOUT_WIDTH = (0xAD, *range(0x200B, 0x2010), *range(0x2028, 0x2030), *range(0x2060, 0x2070), 0xFEFF)
_UNSEEN = "".join(map(chr, (*_BLANKS, *_WITHOUT_WIDTH)))


def bare_name(cell: str) -> str:
    """A cell without what nobody sees around it: blanks, byte order marks, characters without width."""
    return cell.strip(_UNSEEN)


def folded_name(name: str) -> str:
    """A name as it compares with others: whatever its case, width and blanks, its syllables composed or not."""
    return "".join(normalize("NFKC", bare_name(name)).casefold().split())
