"""Gated recurrent units (section 3.2) and long short-term memory, one word and one unit at a time."""

import math

from reference.weights import Matrix, Vector, Weights, dot, part


def gru_step(weights: Weights, state: Vector, word: Vector) -> Vector:
    """The next state, as `torch.nn.GRU` defines it.

    The reset gate is applied after the product: it scales what the recurrent weights (and their bias) make of the
    state, not the state they are given.
    """
    size = len(state)

    def of_word(gate: int, unit: int) -> float:
        row = gate * size + unit
        return dot(weights["weight_ih_l0"][row], word) + weights["bias_ih_l0"][row]

    def of_state(gate: int, unit: int) -> float:
        row = gate * size + unit
        return dot(weights["weight_hh_l0"][row], state) + weights["bias_hh_l0"][row]

    following = []
    for unit in range(size):
        reset = sigmoid(of_word(0, unit) + of_state(0, unit))
        update = sigmoid(of_word(1, unit) + of_state(1, unit))
        fresh = math.tanh(of_word(2, unit) + reset * of_state(2, unit))
        following.append((1 - update) * fresh + update * state[unit])
    return following


def gru_states(weights: Weights, words: Matrix) -> Matrix:
    """The state after each word, begun at zero."""
    state = [0.0] * (len(weights["bias_hh_l0"]) // 3)
    states = []
    for word in words:
        state = gru_step(weights, state, word)
        states.append(state)
    return states


def bigru_states(weights: Weights, words: Matrix) -> Matrix:
    """f(t_i): what has been read up to the word, beside what has been read from the end down to it."""
    forwards = gru_states(part(weights, "forwards.recurrence"), words)
    from_the_end = gru_states(part(weights, "backwards.recurrence"), words[::-1])
    last = len(words) - 1
    return [forwards[place] + from_the_end[last - place] for place in range(len(words))]


def bigru_final(weights: Weights, words: Matrix) -> Vector:
    """g(Q): the final forward state beside the initial backward one, which has read everything too."""
    forwards = gru_states(part(weights, "forwards.recurrence"), words)
    from_the_end = gru_states(part(weights, "backwards.recurrence"), words[::-1])
    return forwards[-1] + from_the_end[-1]


def lstm_states(weights: Weights, words: Matrix) -> Matrix:
    """The state h after each word, begun at zero, as `torch.nn.LSTM` defines it: the gates do not see the cell."""
    size = len(weights["bias_hh_l0"]) // 4
    state, cell, states = [0.0] * size, [0.0] * size, []
    for word in words:
        following, kept = [], []
        for unit in range(size):
            let_in, forget, fresh, let_out = (
                dot(weights["weight_ih_l0"][row], word)
                + weights["bias_ih_l0"][row]
                + dot(weights["weight_hh_l0"][row], state)
                + weights["bias_hh_l0"][row]
                for row in (unit, size + unit, 2 * size + unit, 3 * size + unit)
            )
            kept.append(sigmoid(forget) * cell[unit] + sigmoid(let_in) * math.tanh(fresh))
            following.append(sigmoid(let_out) * math.tanh(kept[unit]))
        state, cell = following, kept
        states.append(state)
    return states


def bilstm_states(weights: Weights, words: Matrix) -> Matrix:
    """y(t): the state forwards up to the word, beside that backwards down to it."""
    forwards = lstm_states(part(weights, "forwards.recurrence"), words)
    backwards = lstm_states(part(weights, "backwards.recurrence"), words[::-1])[::-1]
    return [left + right for left, right in zip(forwards, backwards, strict=True)]


def bilstm_final(weights: Weights, words: Matrix) -> Vector:
    """u: the last state forwards beside the first one backwards."""
    size = len(weights["forwards.recurrence.bias_hh_l0"]) // 4
    states = bilstm_states(weights, words)
    return states[-1][:size] + states[0][size:]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
