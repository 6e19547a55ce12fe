"""What the question's words have to do with those of a passage, as its definition reads."""

import math

from reference.cases import PLACEHOLDER, Case
from reference.pointing import softmax
from reference.weights import Matrix, Vector, Weights, dot, part, plus, times


def alike(case: Case, weights: Weights, vector: Vector) -> Vector:
    """What is added to the vector of a word for the words of the question that it is like, the blank among them."""
    own = part(weights, "extractor.alike")
    asked = [weights["embedding.weight"][word] for word in case.question]
    seen = times(own["seen_as.weight"], vector)
    shares = softmax([dot(seen, times(own["seen_as.weight"], other)) / math.sqrt(len(vector)) for other in asked])
    found = plus(*([share * number for number in other] for share, other in zip(shares, asked, strict=True)))
    alike_in = [one * other for one, other in zip(found, vector, strict=True)]
    return times(own["of_found.weight"], [*found, *alike_in])


def beside(case: Case, weights: Weights, states: Matrix, question: Vector, *, reach: int) -> Vector:
    """What is added to the score of each word of the passage; a filter sees so many words on either side of it."""
    own = part(weights, "extractor.beside")
    asked = [word for word in case.question if word != PLACEHOLDER]
    seen_as = own["seen_as.weight"], own["seen_as.bias"]
    seen = [
        plus(times(seen_as[0], weights["embedding.weight"][word]), seen_as[1]) if word in asked else None
        for word in case.passage
    ]
    width, added = 2 * reach + 1, []
    for place, state in enumerate(states):
        of_filters = []
        for row, bias in zip(own["filters.weight"], own["filters.bias"], strict=True):
            found = bias
            for offset in range(width):
                word = place + offset - reach
                if 0 <= word < len(seen) and seen[word] is not None:
                    found += dot(
                        row[offset::width], seen[word]
                    )  # the filter's numbers for this place, one a number seen
            of_filters.append(max(found, 0.0))
        counts = plus(
            plus(times(own["of_state.weight"], state), own["of_state.bias"]), times(own["of_question.weight"], question)
        )
        added.append(dot(of_filters, counts))
    return added
