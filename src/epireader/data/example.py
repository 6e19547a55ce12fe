"""One cloze question: a tuple (Q, T, a*, A) of the paper's section 2, as words.

Every loader makes these and everything downstream relies on what they promise, so the promises are
checked here, once.
"""

from dataclasses import dataclass

BLANK = "XXXXX"
"""The word that stands for the blank inside an Example, whatever its source wrote there."""

Words = tuple[str, ...]


class BadExample(ValueError):
    """A question that cannot be read. `where` is its place (`file:line`), `reason` what is wrong and the way out."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason = reason
        self.where = where


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A passage in sentences, a question with one blank, and what is known of its answer."""

    sentences: tuple[Words, ...]
    """The passage T; at least one sentence, none of them empty."""
    question: Words
    """The question Q; the word `BLANK` stands in it exactly once."""
    candidates: tuple[Words, ...] = ()
    """The set A, each one or more words, no two the same. Empty: every word of the passage is a candidate."""
    answer: Words | None = None
    """The right answer a*, where it is known. It may be missing from the candidates or from the passage."""
    where: str = ""
    """Where it was read, for messages: `file:line`."""

    def __post_init__(self) -> None:
        blanks = self.question.count(BLANK)
        if blanks != 1:
            raise BadExample(f"the question must have exactly one blank, it has {blanks}", self.where)
        if not self.sentences:
            raise BadExample("the passage has no words", self.where)
        if not all(self.sentences):
            raise BadExample("a sentence of the passage has no words", self.where)
        if not all(self.candidates):
            raise BadExample("a candidate has no words", self.where)
        if len(set(self.candidates)) != len(self.candidates):
            raise BadExample("a candidate is given twice", self.where)
        if self.answer is not None and not self.answer:
            raise BadExample("the answer has no words", self.where)
        if any(BLANK in words for words in self.sentences):
            raise BadExample(f"the passage has the blank {BLANK} in it; only the question may", self.where)
