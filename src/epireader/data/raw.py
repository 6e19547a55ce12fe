"""Questions, candidates and sentences as people write them, in words."""

from functools import lru_cache
from sys import intern

from epireader.data.example import BLANK, Words
from epireader.data.sources import one_blank
from epireader.text import tokenize_sentence


def question_words(text: str) -> Words:
    """The words of a question. The blank is one of them even where a word or a sign is glued to it."""
    before, after = one_blank(text)
    start, end = len(before), len(before) + len(BLANK)
    whole = before + BLANK + after
    words: list[str] = []
    for token in tokenize_sentence(whole):
        if token.end <= start or token.start >= end:
            words.append(token.text)
        else:
            words += filter(None, (whole[token.start : start], BLANK, whole[end : token.end]))
    return tuple(map(intern, words))


@lru_cache(maxsize=4096)  # about one story, the same candidates are given again and again
def phrase_words(text: str) -> Words:
    """The words of a candidate or an answer, which is no sentence: `Marley Jr.` does not end in a full stop."""
    words = sentence_words(text)
    return words[:-1] if len(words) > 1 and words[-1] == "." and not text.rstrip().endswith((" .", "..")) else words


def sentence_words(sentence: str) -> Words:
    return tuple(intern(token.text) for token in tokenize_sentence(sentence))
