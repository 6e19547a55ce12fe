"""Sentences as the Children's Book Test has them: a sentence ends at `.`, `?` or `!`, and quotes close it.

Line ends and paragraphs do not count, so a heading runs on into the sentence under it, as in that corpus.
"""

from epireader.text.tokenizer import ITALICS, tokenize
from epireader.text.tokens import Sentence, Token

_CLOSERS = frozenset(["''", "'", "-RRB-", "-RSB-", "-RCB-", ">"])


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text, none of them empty."""
    sentences: list[list[Token]] = []
    ended = True
    for token in tokenize(text):
        if ended and not (sentences and token.text in _CLOSERS):
            sentences.append([])
            ended = False
        sentences[-1].append(token)
        ended = ended or token.text == "." or token.text[0] in "?!"
    without_italics = (tuple(token for token in sentence if token.text != ITALICS) for sentence in sentences)
    return tuple(sentence for sentence in without_italics if sentence)
