"""The three readers of Hermann et al. (2015, section 3), as they are written down there."""

import math

from reference.cases import Case
from reference.pointing import softmax
from reference.reasoning import mean
from reference.recurrence import bilstm_final, bilstm_states, lstm_states
from reference.weights import Matrix, Vector, Weights, dot, part, plus, times
from reference.whole import Extracted


def answers(case: Case, weights: Weights, joint: Vector) -> Vector:
    """p(a | d, q), proportional to exp(W(a) g(d, q)); over the candidates, where the paper has the vocabulary."""
    table = weights["answer.embedding.weight"]
    return softmax([dot(mean([table[word] for word in words]), joint) for words in case.candidates])


def tanh(vector: Vector) -> Vector:
    return [math.tanh(value) for value in vector]


def weighed(states: Matrix, attention: Vector) -> Vector:
    """r: the states added up, each as much as it is looked at."""
    total = [0.0] * len(states[0])
    for state, share in zip(states, attention, strict=True):
        total = [sum_ + share * value for sum_, value in zip(total, state, strict=True)]
    return total


def attentive(case: Case, weights: Weights) -> Extracted:
    """Section 3.2."""
    table = weights["embedding.weight"]
    states = bilstm_states(part(weights, "passage_encoder"), [table[word] for word in case.passage])
    question = bilstm_final(part(weights, "question_encoder"), [table[word] for word in case.question])
    scores = []
    for state in states:
        match = tanh(plus(times(weights["word_part.weight"], state), times(weights["question_part.weight"], question)))
        scores.append(dot(weights["attention.score.weight"][0], match))
    looked = softmax(scores)
    passage = weighed(states, looked)
    joint = tanh(
        plus(times(weights["passage_joint.weight"], passage), times(weights["question_joint.weight"], question))
    )
    return Extracted(looked, answers(case, weights, joint))


def impatient(case: Case, weights: Weights) -> Extracted:
    """Section 3.3; the attention is that after the last word of the question."""
    table = weights["embedding.weight"]
    question = [table[word] for word in case.question]
    states = bilstm_states(part(weights, "passage_encoder"), [table[word] for word in case.passage])
    gathered, looked = weights["nothing_gathered"], [0.0]
    for asked in bilstm_states(part(weights, "question_encoder"), question):
        scores = []
        for state in states:
            match = plus(
                times(weights["word_part.weight"], state),
                times(weights["gathered_part.weight"], gathered),
                times(weights["question_part.weight"], asked),
            )
            scores.append(dot(weights["attention.score.weight"][0], tanh(match)))
        looked = softmax(scores)
        gathered = plus(weighed(states, looked), tanh(times(weights["kept.weight"], gathered)))
    whole = bilstm_final(part(weights, "question_encoder"), question)
    joint = tanh(plus(times(weights["passage_joint.weight"], gathered), times(weights["question_joint.weight"], whole)))
    return Extracted(looked, answers(case, weights, joint))


def deep_lstm(case: Case, weights: Weights) -> Extracted:
    """Section 3.1, the question first; it looks nowhere."""
    table = weights["embedding.weight"]
    words = [table[word] for word in case.question] + [weights["delimiter"]] + [table[word] for word in case.passage]
    below: Matrix = [[] for _ in words]
    last: Vector = []
    number = 0
    while layer := part(weights, f"layers.{number}.recurrence"):
        below = lstm_states(layer, [word + state for word, state in zip(words, below, strict=True)])
        last = last + below[-1]
        number += 1
    return Extracted([], answers(case, weights, last))
