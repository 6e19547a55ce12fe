"""Which words of a text are names, by a rule that needs no model.

A capital in the middle of a sentence marks a name. Where a sentence starts every word has a capital, so there a word
is a name if the rest of the text says so: it stands with a capital in the middle of sentences, and not mostly without.
A word in CAPITALS is a name if the same word with one capital is.
"""

from collections import Counter
from collections.abc import Sequence

from epireader.text.cloze import NAME, OTHER, Words
from epireader.text.lexicon import SENTENCE_OPENERS, TITLES

STARTS_ENOUGH = 3
"""A word that only ever starts sentences, and is never without a capital, is a name from this many times on."""

SMALL_ENOUGH = 50
"""A word that stands without a capital this many times as often as with one is no name: its capital is for stress."""


def name_kinds(sentences: Sequence[Words]) -> list[str]:
    """For each sentence a letter for each word: NAME or OTHER. What is a name is learnt from all the sentences."""
    known = _Known(sentences)
    return [
        "".join(
            known.kind(word, starts) if word[0].isupper() else OTHER
            for word, starts in zip(words, _starts(words), strict=True)
        )
        for words in sentences
    ]


class _Known:
    """How often a text has each word with a capital inside sentences, with one at their starts, and without."""

    def __init__(self, sentences: Sequence[Words]) -> None:
        self._small = Counter(word for words in sentences for word in words if word[0].islower())
        self._inside: Counter[str] = Counter()
        self._starting: Counter[str] = Counter()
        for words in sentences:
            for word, starts in zip(words, _starts(words), strict=True):
                if word[0].isupper() and not _in_capitals(word):
                    (self._starting if starts else self._inside)[word] += 1

    def kind(self, word: str, starts: bool) -> str:
        """The kind of a word that has a capital."""
        if word in _NEVER or len(word) == 1:
            return OTHER
        if word.capitalize() in _TITLES:
            return NAME
        if _in_capitals(word):
            return NAME if word.isalpha() and self._is_name(word.capitalize()) else OTHER
        if starts:
            return NAME if self._is_name(word) else OTHER
        return OTHER if self._small[word.lower()] > SMALL_ENOUGH * self._inside[word] else NAME

    def _is_name(self, word: str) -> bool:
        if word in _NEVER:
            return False
        small, inside = self._small[word.lower()], self._inside[word]
        if not inside:
            return not small and self._starting[word] >= STARTS_ENOUGH
        return 2 * inside >= small


def _starts(words: Words) -> list[bool]:
    """For every word, whether it opens the sentence or a part of it that begins with a capital: `He said : ` Come`."""
    found = []
    starts = True
    for word in words:
        found.append(starts)
        if word[0].isalnum():
            starts = False
        elif word in _OPENING:
            starts = True
    return found


def _in_capitals(word: str) -> bool:
    """A word of capitals alone; an initial (`J.`) is none."""
    return word.isupper() and len(word) > 1 and not (len(word) == 2 and word[1] == ".")


_OPENING = frozenset(["``", "`", "--", "-LRB-", "-RRB-", "-LSB-", "-RSB-", ":", ";", "...", ".", "!", "?", "*", "-"])
"""What may have a new start after it."""

_TITLES = frozenset(f"{title}." for title in TITLES.split() if title[0].isupper())
"""`Mr.` and the like belong to the name, as taggers and CBT have it."""

_NEVER_NAMES = """
    I O Oh Ah Aye Ay Nay Yes Ha Ho Eh Hi Hello Hallo Hullo Halloa Hurrah Hush Bah Pooh Alas Well Please Perhaps Indeed
    Me Us Him Them Mine Yours Hers Ours Thy Thou Thee Ye Tis Twas
    Am Are Be Been Being Does Done Have Can Could Should Would Must Might Shall Hath Doth Let Come Go Look See
    Any Anything Both Each Either Every Everybody Everything Few Less Many More Most Much Neither Nobody Nor Nothing
    Other Another Same Somebody Something Such Than Own First Second Last Next Two Three Four Five Six Seven Eight Nine Ten
    About Above Again Against Also Around Because Between Down Even Ever Into Just Never Off Only Out Over Since Through
    Till Too Until Up Upon Very Yonder Good Chapter Illustration CHAPTER
"""
_NEVER = frozenset((SENTENCE_OPENERS + _NEVER_NAMES).split()) - {"Will"}
"""Words that titles, verses and shouts write with a capital, and that are no names even so."""
