"""Hypotheses, the matrix M, convolutions, equation 3 and the evidence (section 3.3)."""

from reference.recurrence import gru_states
from reference.weights import Matrix, Vector, Weights, dot, part


def hypothesis(question: list[int], blank: int, candidate: list[int]) -> list[int]:
    """H_k: the question with all words of the candidate where its placeholder was."""
    words: list[int] = []
    for word in question:
        if word == blank:
            words.extend(candidate)
        else:
            words.append(word)
    return words


def mean(vectors: Matrix) -> Vector:
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def match_matrix(sentence: Matrix, candidate: Matrix, question: Matrix) -> tuple[Vector, Vector]:
    """M: each word's inner product with the candidate, and its largest with a word of the question.

    A phrase is compared as the mean of its words. The question is given without its placeholder; where that leaves
    nothing, the second row is 0.
    """
    answer = mean(candidate)
    first, second = [], []
    for word in sentence:
        first.append(dot(word, answer))
        second.append(max((dot(word, other) for other in question), default=0.0))
    return first, second


def convolve(columns: Matrix, weight: list[Matrix], bias: Vector, *, wide: bool) -> Vector:
    """Convolution, bias, ReLU, and the maximum over the sequence: one number a filter.

    `weight[c][o][f]` weighs channel c of the window's o-th word for filter f. A wide convolution sets m - 1 zero
    columns on either side. A narrow one sets none, but to fill up a sequence that is shorter than the filter.
    """
    channels, width = len(weight), len(weight[0])
    empty = [0.0] * channels
    if wide:
        columns = [empty] * (width - 1) + columns + [empty] * (width - 1)
    else:
        columns = columns + [empty] * (width - len(columns))
    pooled = []
    for number, shift in enumerate(bias):
        values = []
        for start in range(len(columns) - width + 1):
            total = shift
            for offset in range(width):
                for channel in range(channels):
                    total += weight[channel][offset][number] * columns[start + offset][channel]
            values.append(max(0.0, total))
        pooled.append(max(values))
    return pooled


def similarity(sentence: Vector, form: Matrix, statement: Vector) -> float:
    """Equation 3: r_S' R r_H."""
    total = 0.0
    for i, left in enumerate(sentence):
        for j, right in enumerate(statement):
            total += left * form[i][j] * right
    return total


def evidence_by_sentence(
    weights: Weights, sentences: list[Matrix], statement: Matrix, candidate: Matrix, question: Matrix, *, wide: bool
) -> Vector:
    """What the Reasoner's last layer makes of its state after every sentence; the last of these is y_k.

    Words are given as vectors; the question without its placeholder.
    """
    of_statement = convolve(
        statement, weights["hypothesis_filters.weight"], weights["hypothesis_filters.bias"], wide=wide
    )
    steps = []
    for sentence in sentences:
        first, second = match_matrix(sentence, candidate, question)
        augmented = [[*word, a, b] for word, a, b in zip(sentence, first, second, strict=True)]
        of_sentence = convolve(
            augmented, weights["sentence_filters.weight"], weights["sentence_filters.bias"], wide=wide
        )
        closeness = similarity(of_sentence, weights["similarity"], of_statement)
        steps.append([closeness, *of_sentence, *of_statement])
    states = gru_states(part(weights, "synthesis.recurrence"), steps)
    return [dot(weights["evidence.weight"][0], state) for state in states]
