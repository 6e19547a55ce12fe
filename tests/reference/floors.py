"""The floors: what each rule makes of one question."""

from reference.cases import Case


def places_of(candidate: list[int], passage: list[int]) -> list[int]:
    """Where a candidate begins in the passage."""
    size = len(candidate)
    return [start for start in range(len(passage) - size + 1) if passage[start : start + size] == candidate]


def most_frequent(case: Case) -> list[int | None]:
    """How often each stands there; None for one that does not."""
    return [len(places_of(candidate, case.passage)) or None for candidate in case.candidates]


def last_mentioned(case: Case) -> list[int | None]:
    """Where each one's last word last stands."""
    found = [places_of(candidate, case.passage) for candidate in case.candidates]
    return [places[-1] + len(c) if places else None for places, c in zip(found, case.candidates, strict=True)]


def probabilities(keys: list) -> list[float]:
    """1, 1/2, 1/3, ... by place, scaled to add up to one; equals share the better place."""
    weights = [0.0 if key is None else 1 / (1 + sum(k is not None and k > key for k in keys)) for key in keys]
    return [weight / sum(weights) if weight else 0.0 for weight in weights]
