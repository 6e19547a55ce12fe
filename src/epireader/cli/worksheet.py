"""Questions as pages to print: a sheet for each, and one with the answers at the end.

The page is one file that needs nothing else: no scripts, no fonts or pictures from elsewhere. All text is escaped.
"""

from html import escape
from typing import TextIO

from epireader.text.cloze import Cloze
from epireader.text.prose import prose

_BLANK = "XXXXX"

_STYLE = """
@page { size: auto; margin: 16mm 18mm; }
* { box-sizing: border-box; }
html { background: #e9e7e2; color: #1d1d1f; font: 11.5pt/1.5 Georgia, "Times New Roman", "Liberation Serif", serif; }
body { margin: 0; }
.sheet { background: #fff; max-width: 210mm; margin: 8mm auto; padding: 16mm 18mm; box-shadow: 0 1px 6px #0003; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 2em; margin-bottom: 5mm;
  padding-bottom: 2mm; border-bottom: 1.5pt solid #1d1d1f; }
.pupil { margin: 0 0 6mm; display: flex; gap: 8mm; font: 10pt/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; }
.pupil span { flex: 1; border-bottom: .75pt solid #777; }
.pupil span:first-child { flex: 2; }
h1, h2, .number { font-family: Helvetica, Arial, "Liberation Sans", sans-serif; margin: 0; }
h1 { font-size: 12pt; overflow-wrap: anywhere; }
.number { font-size: 10.5pt; white-space: nowrap; color: #555; }
h2 { font-size: 9.5pt; letter-spacing: .06em; text-transform: uppercase; color: #555; margin-bottom: 1.5mm; }
.passage { margin: 0 0 6mm; text-align: justify; hyphens: auto; overflow-wrap: anywhere; }
.passage sup { font: 7pt/1 Helvetica, Arial, "Liberation Sans", sans-serif; color: #777; margin-right: .25em; }
.ask { break-inside: avoid; }
.question { margin: 0 0 5mm; padding-left: 4mm; border-left: 2.5pt solid #1d1d1f; font-size: 12.5pt; line-height: 1.8;
  overflow-wrap: anywhere; }
.blank { display: inline-block; width: 8em; height: 1em; border-bottom: 1pt solid #1d1d1f; vertical-align: baseline; }
.bank { list-style: none; margin: 0; padding: 3mm 4mm; border: 1pt solid #1d1d1f; border-radius: 2.5mm;
  display: flex; flex-wrap: wrap; justify-content: center; gap: 2mm 3mm; }
.bank li { flex: 0 1 18%; text-align: center; overflow-wrap: anywhere; }
.answers ol { columns: 4; column-gap: 8mm; margin: 0; padding-left: 2.6em; }
.answers li { break-inside: avoid; overflow-wrap: anywhere; padding-left: .3em; }
.answers li::marker { color: #777; font-size: 9.5pt; }
@media (max-width: 40em) {
  .sheet { padding: 6mm; margin: 0 0 4mm; } .bank li { flex-basis: 40%; }
  .answers ol { columns: 2; }
}
@media print {
  html { background: none; }
  .sheet { max-width: none; margin: 0; padding: 0; box-shadow: none; break-after: page; }
  .sheet:last-of-type { break-after: auto; }
}
"""

_START = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: find the missing word</title>
<style>{style}</style>
</head>
<body>
"""

_SHEET = """<section class="sheet">
<header><h1>{title}</h1><p class="number">Question {number}</p></header>
<p class="pupil"><span>Name</span><span>Date</span></p>
<h2>Read</h2>
<p class="passage">{passage}</p>
<div class="ask">
<h2>Which word is missing?</h2>
<p class="question">{question}</p>
<h2>Choose from these words</h2>
<ul class="bank">{bank}</ul>
</div>
</section>
"""

_ANSWERS = """<section class="sheet answers">
<header><h1>{title}</h1><p class="number">Answers</p></header>
<ol>
{answers}
</ol>
</section>
</body>
</html>
"""


class Worksheet:
    """A page that is written while its questions come; `end` adds the answers."""

    def __init__(self, file: TextIO, title: str) -> None:
        self._file = file
        self._title = title
        self._answers: list[str] = []
        file.write(_START.format(title=escape(title), style=_STYLE))

    def add(self, cloze: Cloze) -> None:
        self._answers.append(cloze.answer)
        asked = (*cloze.sentence[: cloze.blank], _BLANK, *cloze.sentence[cloze.blank + 1 :])
        line = '<span class="blank" role="img" aria-label="missing word"></span>'
        self._file.write(
            _SHEET.format(
                title=escape(readable_title(cloze.title) or self._title),
                number=len(self._answers),
                passage=" ".join(
                    f"<sup>{number}</sup>{escape(prose(words))}" for number, words in enumerate(cloze.passage, start=1)
                ),
                question=escape(prose(asked)).replace(_BLANK, line),
                bank="".join(f"<li>{escape(word)}</li>" for word in cloze.candidates),
            )
        )

    def end(self) -> None:
        answers = "\n".join(f"<li>{escape(answer)}</li>" for answer in self._answers)
        self._file.write(_ANSWERS.format(title=escape(self._title), answers=answers))


def readable_title(title: str) -> str:
    """The name of a file, or a title as CBT writes it, for people: `Andrew_Lang___The_Grey_Fairy_Book.txt.out`."""
    for ending in (".gz", ".xz", ".out", ".txt"):
        title = title.removesuffix(ending)
    return title.replace("___", ": ").replace("_", " ").strip()
