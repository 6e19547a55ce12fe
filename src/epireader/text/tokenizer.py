"""From raw text to the words of the Children's Book Test: Penn Treebank tokens as Stanford CoreNLP makes them.

No Python tokeniser that we know treats quotes, apostrophes and abbreviations as CoreNLP does, keeps the place of each
token and is quick, hence this one: a single pass of one compiled expression.
"""

from epireader.text.lexicon import JOINED_WORDS, SIGNS
from epireader.text.rules import ABBREVIATED_END, ELLIPSIS, OPENING_QUOTE, PLAIN, SIGN, TOKEN, UNSEEN
from epireader.text.tokens import Sentence, Token

ITALICS = "_"
"""Marks emphasis in plain text. It counts when sentences are split, and is then dropped."""

_SPELLING = str.maketrans("‘’‛´", "''''", UNSEEN)


def tokenize_sentence(text: str, begin: int = 0) -> Sentence:
    """The tokens of a text that is one sentence, whatever its punctuation, and that begins at this place of a whole."""
    return tuple([token for token in tokenize(text, begin) if token.text != ITALICS])


def tokenize(text: str, begin: int = 0) -> list[Token]:
    """All tokens of the text in order, marks of italics among them."""
    tokens: list[Token] = []
    for match in TOKEN.finditer(text.rstrip()):
        sort = match.lastindex or 0
        start, end = match.start(sort) + begin, match.end(sort) + begin
        word = match[sort]
        if word in JOINED_WORDS:
            seam = JOINED_WORDS[word]
            tokens.append(Token(word[:seam], start, start + seam))
            word, start = word[seam:], start + seam
        elif sort == ABBREVIATED_END:  # CoreNLP writes its period twice: etc. .
            tokens.append(Token(word, start, end - 1))
            word, start = ".", end - 1
        elif sort != PLAIN:
            word = _treebank_form(word, sort)
        if word:
            tokens.append(Token(word, start, end))
    return tokens


def _treebank_form(surface: str, sort: int) -> str:
    """What the token is written as; nothing where nothing of it shows."""
    if sort == SIGN:
        seen = surface.rstrip(UNSEEN)
        return SIGNS.get(seen, surface if seen else "")
    if sort == OPENING_QUOTE:
        return "`" if surface == "'" else "``"
    if sort == ELLIPSIS:
        return "..."
    return surface if surface.isascii() else surface.translate(_SPELLING)
