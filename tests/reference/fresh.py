"""Questions made freshly from a book, as the rules read: one word after the other, in plain Python."""

from collections.abc import Mapping

from epireader.data.example import BLANK, Example
from epireader.text.cloze import NOUN, TaggedBook


def mixed_by_hand(value: int) -> int:
    """64 bits from a number; every product wraps around as it does on a device."""
    x = wrapped((value + 1) * 0x1E3779B97F4A7C15)
    for multiplier in (0x3F58476D1CE4E5B9, 0x14D049BB133111EB):
        x = wrapped((x ^ ((x >> 30) & (2**34 - 1))) * multiplier)
    return x ^ ((x >> 31) & (2**33 - 1))


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def question_by_hand(
    book: TaggedBook, number: int, kind: str, row: int, shuffle: int, number_of: Mapping[str, int]
) -> tuple[Example, int]:
    """What sentence `number` is asked about a kind of word, and the answer's number among the candidates."""
    key = mixed_by_hand(wrapped(row + mixed_by_hand(shuffle)))
    passage, letters = book.sentences[number - 20 : number], book.kinds[number - 20 : number]
    sentence = book.sentences[number]
    places = [
        place
        for place, letter in enumerate(book.kinds[number])
        if letter == kind and any(sentence[place] in words for words in passage)
    ]
    blank = places[mixed_by_hand(key) % len(places)]
    answer = sentence[blank]
    others: list[str] = []
    for wanted in dict.fromkeys((kind, NOUN)):
        found = set()
        for words, marks in zip(passage, letters, strict=True):
            for word, mark in zip(words, marks, strict=True):
                if mark == wanted and word.lower() != answer.lower() and word not in others:
                    found.add(word)
        others += sorted(found, key=lambda word: mixed_by_hand(wrapped(key + number_of[word])))
    del others[9:]
    place = mixed_by_hand(wrapped(key + 1)) % (len(others) + 1)
    candidates = [*others[:place], answer, *others[place:]]
    question = (*sentence[:blank], BLANK, *sentence[blank + 1 :])
    example = Example(
        sentences=tuple(passage),
        question=question,
        candidates=tuple((word,) for word in candidates),
        answer=(answer,),
    )
    return example, place if others else -1
