"""What a passage asks itself, as the rules read: one word after the other, in plain Python."""

from epireader.data.example import BLANK, Example


def can_be_asked_by_hand(example: Example, longest: int) -> list[tuple[int, int]]:
    """The sentence and the place of every word that can be left out."""
    words = [phrase[0] for phrase in example.candidates if len(phrase) == 1]
    return [
        (number, place)
        for number, sentence in enumerate(example.sentences)
        if len(sentence) <= longest
        for place, word in enumerate(sentence)
        if word in words
        and sentence.count(word) == 1
        and any(word in other for n, other in enumerate(example.sentences) if n != number)
    ]


def own_question_by_hand(example: Example, draw: int, longest: int) -> Example:
    """The question that is drawn; the given one if nothing can be asked."""
    places = can_be_asked_by_hand(example, longest)
    if not places:
        return example
    number, place = places[draw % len(places)]
    sentence = example.sentences[number]
    return Example(
        sentences=(*example.sentences[:number], *example.sentences[number + 1 :]),
        question=(*sentence[:place], BLANK, *sentence[place + 1 :]),
        candidates=example.candidates,
        answer=(sentence[place],),
    )
