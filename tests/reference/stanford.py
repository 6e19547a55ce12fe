"""The Stanford Attentive Reader (Chen et al. 2016, section 4.2), as it is written down there."""

from reference.cases import Case
from reference.hermann import weighed
from reference.pointing import probability, softmax
from reference.reasoning import mean
from reference.recurrence import bigru_final, bigru_states
from reference.weights import Weights, dot, part, times
from reference.whole import Extracted


def stanford(case: Case, weights: Weights) -> Extracted:
    """The softmax runs over the candidates that stand in the passage; the others have no probability."""
    table, outputs = weights["embedding.weight"], weights["answer.embedding.weight"]
    states = bigru_states(part(weights, "passage_encoder"), [table[word] for word in case.passage])
    question = bigru_final(part(weights, "question_encoder"), [table[word] for word in case.question])
    looked = softmax([dot(times(weights["bilinear.weight"], question), state) for state in states])
    output = weighed(states, looked)
    there = [words for words in case.candidates if probability(words, case.passage, looked) > 0]
    if not there:
        return Extracted(looked, [0.0] * len(case.candidates))
    chosen = softmax([dot(mean([outputs[word] for word in words]), output) for words in there])
    return Extracted(looked, [chosen[there.index(words)] if words in there else 0.0 for words in case.candidates])
