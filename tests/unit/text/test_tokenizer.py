"""Words: what becomes one token, what is taken apart, and in which form it is written."""

import pytest

from epireader.text import split_sentences, tokenize_sentence


def words(text: str) -> str:
    return " ".join(token.text for token in tokenize_sentence(text))


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("I don't, she can't, we hadn't.", "I do n't , she ca n't , we had n't ."),
        ("DON'T! I WON'T!", "DO N'T ! I WO N'T !"),
        ("It's Tom's, and they'd see what we've got; you'll know I'm right.",
         "It 's Tom 's , and they 'd see what we 've got ; you 'll know I 'm right ."),
        ("WE'LL see; WE'RE off", "WE 'LL see ; WE 'RE off"),
        ("the boys' boots and James's hat", "the boys ' boots and James 's hat"),
        ("You cannot, or Cannot you?", "You can not , or Can not you ?"),
        ("Gimme that, I gotta go", "Gim me that , I got ta go"),
        ("'Tis late, and 'twas dark", "'T is late , and 't was dark"),
        ("at ten o'clock, ma'am, he ne'er saw 'em", "at ten o'clock , ma'am , he ne'er saw 'em"),
        ("O'Leary, d'Orsay and the Cap'n", "O'Leary , d'Orsay and the Cap'n"),
        ("bread 'n' butter for ol' Ned", "bread 'n' butter for ol' Ned"),
        ("Y'all come 'cause it's warm", "Y' all come 'cause it 's warm"),
        ("nothin' but singin'", "nothin ' but singin '"),
    ],
)  # fmt: skip
def test_contractions_are_split_as_in_the_treebank(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ('"Stop," he said.', "`` Stop , '' he said ."),
        ("'Stop,' he said.", "` Stop , ' he said ."),
        ("“Stop,” he said, “or I’ll shout ‘thief!’ now.”",
         "`` Stop , '' he said , `` or I 'll shout ` thief ! ' now . ''"),
        ("«Halt»", "`` Halt ''"),
        ("``Stop''", "`` Stop ''"),
        ('"\'Tis I," she said.', "'' 'T is I , '' she said ."),
        ('He paid "$5"', "He paid `` $ 5 ''"),
    ],
)  # fmt: skip
def test_quotes_open_and_close_as_in_the_childrens_book_test(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("(a) [b] {c}", "-LRB- a -RRB- -LSB- b -RSB- -LCB- c -RCB-"),
        ("wait--no", "wait -- no"),
        ("wait—no – or ---- yes", "wait -- no -- or -- yes"),
        ("------", "------"),
        ("well-known man-eaters, to-morrow", "well-known man-eaters , to-morrow"),
        ("Well... perhaps… or . . . not", "Well ... perhaps ... or ... not"),
        ("He slept.... Then he woke", "He slept ... . Then he woke"),
        ("But I...", "But I ..."),
        ("What?! No!!", "What ?! No !!"),
        ("half for £3", "half for # 3"),
        ("* * *", "* * *"),
    ],
)
def test_signs_take_their_treebank_form(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("Mr. Fox and Mrs. Hen saw Dr. Bat at St. Ives.", "Mr. Fox and Mrs. Hen saw Dr. Bat at St. Ives ."),
        ("J. R. Mole, Esq., of Hill & Co., Ltd.", "J. R. Mole , Esq. , of Hill & Co. , Ltd. ."),
        ("He left on Dec. 5, at 4 p.m. sharp.", "He left on Dec. 5 , at 4 p.m. sharp ."),
        ("nuts, seeds, etc. and so on", "nuts , seeds , etc. and so on"),
        ("See No. 7. There is no. I said no.", "See No. 7 . There is no . I said no ."),
        ("P.S. Write soon", "P.S. Write soon"),
        ("Gen. Lee-Smith met Maj.-Gen. Hill", "Gen. Lee-Smith met Maj.-Gen . Hill"),
        ("Ans.: none", "Ans. : none"),
    ],
)
def test_abbreviations_keep_their_period(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("1,000 men, 7:30, 3.5, .5, -4 and 1/2", "1,000 men , 7:30 , 3.5 , .5 , -4 and 1/2"),
        ("the 20th--21st of 1851-52", "the 20th -- 21st of 1851-52"),
        ("$1.50 or US$2", "$ 1.50 or US $ 2"),
        ("AT&T and/or p52.jpg", "AT&T and/or p52.jpg"),
    ],
)
def test_numbers_and_compounds_stay_whole(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("_Never_ say _that_!", "Never say that !"),
        ("_Tom_'s hat", "Tom 's hat"),
        ("a blank: ____ here", "a blank : ____ here"),
    ],
)
def test_marks_of_italics_are_dropped(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("Then XXXXX ran.", "Then XXXXX ran ."),
        ('"XXXXX!" XXXXX\'s friend', "`` XXXXX ! '' XXXXX 's friend"),
        ("@entity12 met @entity3's @placeholder, @entity4-@entity5",
         "@entity12 met @entity3 's @placeholder , @entity4 - @entity5"),
    ],
)  # fmt: skip
def test_blanks_and_entities_stay_single_tokens(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("naïve café, Größe", "naïve café , Größe"),
        ("cafe\u0301 noir", "cafe\u0301 noir"),
        ("\ufeffOnce co\u00adoperate", "Once cooperate"),
        ("сказка 物語 हिन्दी", "сказка 物語 हिन्दी"),
        ("a\u00a0b\u2003c\u3000d", "a b c d"),
    ],
)
def test_words_of_any_script_stay_whole(raw: str, tokens: str) -> None:
    assert words(raw) == tokens


@pytest.mark.parametrize(
    ("raw", "sentences"),
    [
        ("He sat.\u200b Then she ran.\u200b", ["He sat .", "Then she ran ."]),
        ("“\u200bGo!”\u200b\u200b He went.\ufeff", ["`` Go ! ''", "He went ."]),
        ("\u200e \u200f", []),
    ],
)
def test_what_does_not_show_is_no_word_and_hides_no_sign(raw: str, sentences: list[str]) -> None:
    assert [" ".join(token.text for token in sentence) for sentence in split_sentences(raw)] == sentences


def test_typographic_apostrophes_are_read_as_straight_ones() -> None:
    raw = "I don't think it's Tom's; he'd ask ma'am O'Leary at ten o'clock, 'twas said."
    assert words(raw.replace("'", "’")) == words(raw)


def test_a_token_says_where_it_stands() -> None:
    raw = "“I can’t (etc.)” cannot wait . . . etc. But"
    stands_for = [(token.text, raw[token.start : token.end]) for token in tokenize_sentence(raw)]
    assert stands_for == [
        ("``", "“"), ("I", "I"), ("ca", "ca"), ("n't", "n’t"), ("-LRB-", "("), ("etc.", "etc."), ("-RRB-", ")"),
        ("''", "”"), ("can", "can"), ("not", "not"), ("wait", "wait"), ("...", ". . ."), ("etc.", "etc"), (".", "."),
        ("But", "But"),
    ]  # fmt: skip


def test_a_sentence_is_never_split() -> None:
    assert words("One. Two! Three?") == "One . Two ! Three ?"


@pytest.mark.parametrize("raw", ["", " ", "\r\n\t", "_", " _ _ "])
def test_a_text_without_words_has_no_tokens(raw: str) -> None:
    assert tokenize_sentence(raw) == ()


def test_places_are_counted_from_where_the_sentence_begins() -> None:
    before, sentence = "Ann sat. ", "Etc. cannot end 'Tom's list'."
    moved = tokenize_sentence(sentence, len(before))
    assert [token.text for token in moved] == words(sentence).split()
    for token, alone in zip(moved, tokenize_sentence(sentence), strict=True):
        assert (before + sentence)[token.start : token.end] == sentence[alone.start : alone.end]


@pytest.mark.parametrize("end", [" ", ",", ";", ":", ")", '"', ""])
def test_digits_in_a_word_change_nothing_about_its_end(end: str) -> None:
    assert words(f"H2O{end}") == words(f"Water{end}").replace("Water", "H2O")
    assert words(f"3,000 B2{end}") == f"3,000 {words(f'B2{end}')}"
