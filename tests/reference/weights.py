"""Weights as the twins take them: lists of floats, found by their names in the fast module."""

from typing import Any

from torch import nn

Vector = list[float]
Matrix = list[Vector]
Weights = dict[str, Any]


def weights_of(module: nn.Module) -> Weights:
    """Every parameter of a module by its name."""
    return {name: parameter.detach().double().tolist() for name, parameter in module.named_parameters()}


def part(weights: Weights, name: str) -> Weights:
    """The weights of one part of a module."""
    start = name + "."
    return {key[len(start) :]: value for key, value in weights.items() if key.startswith(start)}


def dot(left: Vector, right: Vector) -> float:
    total = 0.0
    for a, b in zip(left, right, strict=True):
        total += a * b
    return total


def times(matrix: Matrix, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def plus(*vectors: Vector) -> Vector:
    return [sum(values) for values in zip(*vectors, strict=True)]
