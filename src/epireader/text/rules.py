"""What a token looks like: one compiled expression, its alternatives in order of preference.

The longest match is the right one. An expression of Python takes the first that fits, so a rule here stands before those
whose matches are shorter. No rule can read far and then take little, or give back
more than it read once: that keeps the cost linear in the length of the text.
"""

import re
import unicodedata

from epireader.text.lexicon import (
    BEFORE_NUMBERS,
    CLIPPED,
    ENDABLE,
    ENDABLE_CAPITALISED,
    SENTENCE_OPENERS,
    TITLES,
)


def _first_of(*rules: str) -> str:
    """An expression for the first rule that fits."""
    return "|".join(rules)


def _any_of(words: str) -> str:
    """An expression for any of the words in any case, the longest first."""
    return "(?i:" + "|".join(map(re.escape, sorted(words.split(), key=len, reverse=True))) + ")"


def _combining_marks() -> str:
    """The marks that belong to the letter before them, for use inside `[...]`."""
    blocks = [*range(0x300, 0x3100), *range(0xFE00, 0xFE30)]
    return "".join(chr(code) for code in blocks if unicodedata.category(chr(code)).startswith("M"))


UNSEEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
"""Characters that do not show: the soft hyphen, joiners, the byte order mark."""

_LETTER = r"[^\W\d_]"
_ALNUM = r"[^\W_]"
_MARK = f"[{UNSEEN}{_combining_marks()}]"
_RUN = rf"(?:{_ALNUM}++{_MARK}*+)++"
_APOSTROPHE = "['’´]"
_INNER_APOSTROPHE = "['’´‘‛`]"

_CLITIC = rf"{_APOSTROPHE}(?i:[msd]|re|ve|ll)(?!{_LETTER})"
_CLIPPED = _any_of(CLIPPED).replace("'", _APOSTROPHE)
_PREFIX = rf"(?:[dDoOlL]{_INNER_APOSTROPHE}(?={_ALNUM}{{2}}))?+"
_HYPHENATED = rf"(?:[-_‐‑]{_PREFIX}{_RUN}(?:\.\d++)?+)*+"
_DOTTED = rf"{_RUN}(?:\.(?={_LETTER}){_RUN})*+(?:\.(?=-{_ALNUM}))?+"

_PERIOD = rf"\.(?!-?{_ALNUM})"
_ENDABLE = rf"(?:{_any_of(ENDABLE)}|(?=[A-Z]){_any_of(ENDABLE_CAPITALISED)}){_PERIOD}"
_INITIALS = r"[A-Za-z](?:\.[A-Za-z])"
_OPENER_FOLLOWS = rf"\s++(?=[A-Z]){_any_of(SENTENCE_OPENERS)}(?:[?!]|\s(?![,;:]|{_CLITIC}))"

_PLAIN = _first_of(rf"{_LETTER}{_ALNUM}*+(?=[\s,;:)\"”]|\Z)", "[,;:]", r"\.(?!\.|\d|[ \xa0]\.)")
_ABBREVIATED_END = _first_of(
    rf"{_ENDABLE}(?=(?>\r\n|\s)(?:\s|[A-ZÀ-ÖØ-Þ])|\s*+\Z)",
    rf"{_INITIALS}++\.(?={_OPENER_FOLLOWS})",
)
_WORD = _first_of(
    r"-[LR][RSC]B-",
    rf"@[A-Za-z]{_ALNUM}*+",  # @entity12, @placeholder
    rf"{_LETTER}+(?<![nN])(?=[nN]{_INNER_APOSTROPHE}[tT])",  # do|n't
    rf"[nN]{_INNER_APOSTROPHE}[tT](?!{_ALNUM})",
    _CLITIC,
    rf"{_APOSTROPHE}(?i:n{_APOSTROPHE}|t(?=\s?(?:is|was)(?!{_ALNUM}))|(?:em|cause|till?|n)(?!{_ALNUM})|\d\d(?=\s))",
    rf"{_CLIPPED}(?!{_ALNUM})",
    rf"(?!.{_CLITIC})[A-HJ-XZn]{_INNER_APOSTROPHE}{_LETTER}{{2,}}+",  # S'pose
    rf"(?!.{_CLITIC})[yY]{_APOSTROPHE}(?=\s?{_LETTER})",  # y'|all
    rf"{_LETTER}++(?<={_LETTER}[aeiouyAEIOUY])(?!{_CLITIC}){_INNER_APOSTROPHE}[aeiouA-Z]{_LETTER}*+",  # ma'am, ne'er
    rf"{_any_of(TITLES)}{_PERIOD}",
    rf"{_any_of(BEFORE_NUMBERS)}\.(?=\s?\d)",
    _ENDABLE,
    rf"{_INITIALS}*+{_PERIOD}(?!\.\.|{_OPENER_FOLLOWS})",
    r"[A-Z]++(?:&[A-Z]++)++",
    rf"(?:[-+]?+(?:\d++(?:[.:,]\d++)++|\.\d++(?:,\d++)*+)|[-+]\d++){_HYPHENATED}",
    rf"[{UNSEEN}]*+{_PREFIX}{_DOTTED}{_HYPHENATED}(?:/{_RUN}{_HYPHENATED}){{0,2}}+(?:\.(?=\s?[,;:]))?+",
)
_OPENING_QUOTE = _first_of(rf"'(?={_LETTER}\S)", rf"(?:\"|'')(?={_ALNUM}|\$)")
_ELLIPSIS = _first_of(
    rf"\.{{3,}}(?=\.\s++{_LETTER})",  # one more dot is a period
    r"\.{3,}+",
    rf"\.(?:[ \xa0]\.){{2,}}(?=[ \xa0]\.\s++{_LETTER})",
    r"\.(?:[ \xa0]\.){2,}+",
)
_SIGN = _first_of("``", "''", "-++", r"[?!]++", r"\*++", "=++", "#++", "@++", "_++", rf"\S{_MARK}*+")

_GROUPS = (_PLAIN, _ABBREVIATED_END, _WORD, _OPENING_QUOTE, _ELLIPSIS, _SIGN)
PLAIN, ABBREVIATED_END, WORD, OPENING_QUOTE, ELLIPSIS, SIGN = range(1, 7)
TOKEN = re.compile(r"\s*+(?:" + "|".join(f"({group})" for group in _GROUPS) + ")")
"""Fits a token and the space before it; the number of its one group says of which sort the token is.

PLAIN stands first because seven tokens in eight are of that sort.
"""
