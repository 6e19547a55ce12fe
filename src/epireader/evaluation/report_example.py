"""One question of a report as HTML, after the paper's Figure 2."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from epireader.data.example import BLANK
from epireader.evaluation.examples import ShownQuestion, ShownSentence
from epireader.text.prose import prose

_ANSWER, _RIVAL, _END = "\ue000", "\ue001", "\ue002"
"""Put around words before they become print, and turned into marks after it is escaped. No text keeps them."""
_MARKS = {_ANSWER: '<mark class="right">', _RIVAL: '<mark class="rival">', _END: "</mark>"}
_LEAST_SCALE = 1e-6

_EXAMPLE = """<article class="{kind}">
<div class="passage">
{passage}
</div>
<p class="question">{question}</p>
<dl class="choices">
<div class="{extractor_class}"><dt>Extractor</dt><dd>{extractor}</dd></div>
<div class="{final_class}"><dt>Reasoner</dt><dd>{final}</dd></div>
<div class="right"><dt>right answer</dt><dd>{answer}</dd></div>
</dl>
{hypotheses}
</article>
"""


def example_html(one: ShownQuestion) -> str:
    """The passage with its evidence, the question, who chose what, and every hypothesis."""
    return _EXAMPLE.format(
        kind="corrected" if one.corrected else "spoiled",
        passage="\n".join(_passage(one.sentences)),
        question=_question(one.question),
        extractor_class="rival" if one.corrected else "right",
        final_class="right" if one.corrected else "rival",
        extractor=escape(one.extractor_choice),
        final=escape(one.final_choice),
        answer=escape(one.answer),
        hypotheses=_hypotheses(one),
    )


def _passage(sentences: Sequence[ShownSentence]) -> Iterator[str]:
    """Every sentence with its number; runs of those that matter little are folded."""
    largest = max((abs(sentence.moved or 0.0) for sentence in sentences), default=0.0)
    for matters, run in groupby(enumerate(sentences, start=1), key=lambda pair: pair[1].matters):
        lines = [_sentence(number, sentence, largest) for number, sentence in run]
        if matters:
            yield from lines
        else:
            count = f"{len(lines)} sentence{'' if len(lines) == 1 else 's'}"
            yield f"<details><summary>{count} more</summary>{''.join(lines)}</details>"


def _sentence(number: int, sentence: ShownSentence, largest: float) -> str:
    evidence = "" if sentence.moved is None else _evidence(sentence.moved, largest)
    return f'<div class="sentence"><b>{number}</b><p>{_marked(sentence)}</p>{evidence}</div>'


def _evidence(moved: float, largest: float) -> str:
    """A bar to the right for the right answer, to the left for its rival."""
    side, width = ("right" if moved >= 0 else "rival"), 50 * abs(moved) / max(largest, _LEAST_SCALE)
    return f'<span class="evidence {side}"><i style="width: {width:.1f}%"></i><small>{moved:+.2f}</small></span>'


def _marked(sentence: ShownSentence) -> str:
    words = []
    for word, of_answer, of_rival in zip(sentence.words, sentence.of_answer, sentence.of_rival, strict=True):
        start = _ANSWER if of_answer else _RIVAL if of_rival else ""
        words.append(f"{start}{_without_signs(word)}{_END}" if start else _without_signs(word))
    text = escape(prose(words))
    for sign, tag in _MARKS.items():
        text = text.replace(sign, tag)
    return text


def _question(words: Sequence[str]) -> str:
    line = '<span class="blank" role="img" aria-label="missing word"></span>'
    signed = [f"{_ANSWER}" if word == BLANK else _without_signs(word) for word in words]
    return escape(prose(signed)).replace(_ANSWER, line)


def _without_signs(word: str) -> str:
    return "".join(letter for letter in word if letter not in _MARKS)


def _hypotheses(one: ShownQuestion) -> str:
    heads = {"p": "p, Extractor", "e": "e, Reasoner", "pi": "π, both"}
    rows = "".join(
        f'<tr class="{_side(one, str(hypothesis["text"]))}"><th scope="row">{escape(str(hypothesis["text"]))}</th>'
        + "".join(_bar(name, hypothesis[name]) for name in heads)
        + "</tr>"
        for hypothesis in one.hypotheses
    )
    titles = "".join(f'<th scope="col">{title}</th>' for title in heads.values())
    return f'<table class="hypotheses"><thead><tr><th></th>{titles}</tr></thead><tbody>{rows}</tbody></table>'


def _side(one: ShownQuestion, text: str) -> str:
    return "right" if text == one.answer else "rival" if text == one.rival else ""


def _bar(name: str, value: object) -> str:
    if not isinstance(value, float):
        return "<td>–</td>"
    return f'<td><span class="bar {name}"><i style="width: {100 * value:.1f}%"></i></span>{value:.2f}</td>'
