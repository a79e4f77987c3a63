"""What a program hands over beside its parameters, looked through: scores, states, labels, weights.

What is wrong raises ConfigError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kimesh import _core
from kimesh._core import ConfigError, MeshError


class Evaluation(NamedTuple):
    """Sums over this node's part of the test set, which all nodes share among them."""

    correct: int
    samples: int
    loss_sum: float = 0.0


def evaluation_of(returned: Any) -> Evaluation:
    """What `evaluate` has returned."""
    try:
        correct, samples, loss_sum = Evaluation(*returned)
        numbers = Evaluation(_whole(correct), _whole(samples), float(loss_sum))
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"evaluate returned {returned!r}: return two whole numbers, (correct, "
                          "samples), or these with the sum of losses") from error
    if not 0 <= numbers.correct <= numbers.samples:
        raise ConfigError(f"evaluate returned {numbers.correct} correct of {numbers.samples} "
                          "samples: return (correct, samples), of this node's part of the test set")
    return numbers


def state_of(returned: Any) -> bytes:
    """What the first function of `state` has returned."""
    if not isinstance(returned, (bytes, bytearray, memoryview)):
        raise ConfigError(f"the first function of state returned {_kind(returned)}: return bytes")
    return bytes(returned)


def classes_of(labels: Sequence[int] | None) -> np.ndarray:
    """The labels of a data set, a class for each sample."""
    if labels is None:
        raise ConfigError("labels are None: give the class of each sample, or zeros where there "
                          "are no classes")
    try:
        classes = np.asarray(labels)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"labels cannot be read: {error}") from error
    if classes.ndim != 1:
        raise ConfigError(f"labels have shape {list(classes.shape)}: give one class for each "
                          "sample, of one-hot labels .argmax(1)")
    if classes.size > 0 and classes.dtype.kind not in "iub":
        raise ConfigError(f"labels are {classes.dtype}: give classes that are whole numbers, such "
                          "as int64")
    return np.ascontiguousarray(classes, np.int64)


def weights_of(path: str, trained: list[tuple[str, tuple[int, ...]]]) -> list[np.ndarray]:
    """The values of a safetensors file from which the parameters start, flat and in their order."""
    try:
        tensors = {name: (shape, values) for name, shape, values in _core.read_weights(path)}
    except MeshError as error:
        raise ConfigError(f"{error}: name another file") from error
    found = []
    for name, shape in trained:
        if name not in tensors:
            raise ConfigError(f"{path} has no '{name}': name another file")
        there, values = tensors[name]
        if tuple(there) != shape:
            raise ConfigError(f"{path} has '{name}' of shape {there}, and the model of "
                              f"{list(shape)}: name another file")
        found.append(values)
    return found


def _whole(value: Any) -> int:
    """A whole number of any framework's, which floats may hold, too."""
    number = int(value)
    if number != value:
        raise ValueError("this is no whole number")
    return number


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
