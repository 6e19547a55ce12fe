"""Candidates made strangers at random, one question at a time."""

from dataclasses import replace

from reference.cases import FIRST_STRANGER, Case
from reference.fresh import mixed_by_hand, wrapped


def estranged_by_hand(case: Case, row: int, shuffle: int, share: float, strangers: int) -> Case:
    """Every known word that is a candidate by itself is drawn or not; all strangers are then numbered as they appear."""
    key = mixed_by_hand(wrapped(mixed_by_hand(wrapped(row + mixed_by_hand(shuffle))) - 1))
    first_known = FIRST_STRANGER + strangers
    turned = set()
    for phrase in case.candidates:
        if len(phrase) == 1 and phrase[0] >= first_known:
            draw = mixed_by_hand(wrapped(key + phrase[0])) % 2**53
            if draw / 2**53 < share:
                turned.add(phrase[0])
    met: list[int] = []

    def number(word: int) -> int:
        if word not in turned and not FIRST_STRANGER <= word < first_known:
            return word
        if word not in met:
            met.append(word)
        return FIRST_STRANGER + met.index(word) % strangers

    sentences = [[number(word) for word in sentence] for sentence in case.sentences]
    question = [number(word) for word in case.question]
    candidates = [[number(word) for word in phrase] for phrase in case.candidates]
    return replace(case, sentences=sentences, question=question, candidates=candidates)
