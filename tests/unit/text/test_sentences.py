"""Sentences: where one ends, and to which of two a quote belongs."""

import pytest

from epireader.text import split_sentences, tokenize_sentence

STORY = """\
THE OTTER'S LAMP

'Who put the lamp out?' said the Otter.  She looked at Mr. Stoat, who
was eating, and then at the river--it was black, and it didn't stop to
answer.

"I never touched it!" cried Mr. Stoat. "Ask Dr. Heron. He was up at
four o'clock; he's _always_ up at four o'clock."

"'Twas the wind," said Dr. Heron (he was half asleep), "or the rain, or
both, etc. You may take your pick."

The Otter sat down... She had only one match left, and nobody knew it
but I. Then at last somebody laughed!

[Illustration: The match]

'Give it to me, Mrs. Otter,' said a small voice. 'I know a trick.' And
out of the reeds came J. B. Newt, with a hat as wet as himself.
"""

SENTENCES = """\
THE OTTER 'S LAMP ` Who put the lamp out ? '
said the Otter .
She looked at Mr. Stoat , who was eating , and then at the river -- it was black , and it did n't stop to answer .
`` I never touched it ! ''
cried Mr. Stoat .
`` Ask Dr. Heron .
He was up at four o'clock ; he 's always up at four o'clock . '' ''
'T was the wind , '' said Dr. Heron -LRB- he was half asleep -RRB- , `` or the rain , or both , etc. .
You may take your pick . ''
The Otter sat down ... She had only one match left , and nobody knew it but I .
Then at last somebody laughed !
-LSB- Illustration : The match -RSB- ` Give it to me , Mrs. Otter , ' said a small voice . '
I know a trick . '
And out of the reeds came J. B. Newt , with a hat as wet as himself .
""".splitlines()


def lines(text: str) -> list[str]:
    return [" ".join(token.text for token in sentence) for sentence in split_sentences(text)]


def test_a_story_is_split_as_the_childrens_book_test_splits_it() -> None:
    assert lines(STORY) == SENTENCES


@pytest.mark.parametrize("line_end", ["\r\n", "\r", "\u2028", "\n\n\n", " \n"])
def test_line_ends_and_wrapping_change_nothing(line_end: str) -> None:
    assert lines(STORY.replace("\n", line_end)) == SENTENCES


def test_windows_line_ends_do_not_end_a_sentence_after_an_abbreviation() -> None:
    assert lines("Nuts, seeds, etc.\r\nwere there.") == ["Nuts , seeds , etc. were there ."]


@pytest.mark.parametrize("line", SENTENCES)
def test_tokenised_lines_stay_as_they_are(line: str) -> None:
    assert [token.text for token in tokenize_sentence(line)] == line.split()


@pytest.mark.parametrize(
    ("raw", "sentences"),
    [
        ("He ran! she said.", ["He ran !", "she said ."]),
        ("What?! Oh.", ["What ?!", "Oh ."]),
        ("(He ran.) She sat.", ["-LRB- He ran . -RRB-", "She sat ."]),
        ("I waited... and waited.", ["I waited ... and waited ."]),
        ("He slept.... Then he woke.", ["He slept ... .", "Then he woke ."]),
        ("We met in Dec. It snowed.", ["We met in Dec. .", "It snowed ."]),
        ("It was nearly 5 p.m. She sat.", ["It was nearly 5 p.m. .", "She sat ."]),
        ("Ask J. B. Newt. He knows.", ["Ask J. B. Newt .", "He knows ."]),
        ("no full stop", ["no full stop"]),
        ("One. _Two._ Three.", ["One .", "Two .", "Three ."]),
        ("", []),
        (" _ \n", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(raw: str, sentences: list[str]) -> None:
    assert lines(raw) == sentences


def test_sentences_hold_the_tokens_of_the_text_in_order() -> None:
    assert [token for sentence in split_sentences(STORY) for token in sentence] == list(tokenize_sentence(STORY))
