"""What is trained, as one flat vector: PyTorch's tensors in place, other arrays as copies.

Each class has the names and shapes of the parameters, in order, and moves numbers between the
framework and kimesh's two vectors. PyTorch and JAX are imported by the program, never by kimesh.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kimesh._core import ConfigError

Floats = npt.NDArray[np.float32]
Shape = tuple[int, ...]

# Of DLPack: kDLCPU, and the pinned memory of kDLCUDAHost and kDLROCMHost.
_DEVICES_IN_CPU_MEMORY = (1, 3, 11)

# The buffers of torch's batch norms and instance norms that count along, by their last names.
_RUNNING_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class Parameters(Protocol):
    """The parameters of a program."""

    trained: list[tuple[str, Shape]]
    frozen: list[tuple[str, Shape]]  # with values of their own, which no step changes
    adds_gradient: bool  # backward() adds to the vector; else take_gradient() gives all of it

    def frozen_values(self) -> Floats: ...

    def bind(self, parameters: Floats, gradient: Floats) -> None:
        """Copies the first point to `parameters`; both vectors are meant from now on."""

    def take_gradient(self, gradients: Any) -> list[Floats] | None:
        """The gradient that the program has computed, as flat arrays in the order of `trained`;
        None: the vector holds it."""

    def current(self) -> Any:
        """The parameters, in the form in which the program gave them."""

    def environment(self) -> str: ...


def parameters_of(given: Any) -> Parameters:
    """Takes a PyTorch module, its named_parameters(), or a tree of arrays of NumPy or JAX."""
    torch = sys.modules.get("torch")
    module = None
    if torch is not None:
        module = given if isinstance(given, torch.nn.Module) else _module_behind(given)
        if module is not None:
            _refuse_running_statistics(module)
        if isinstance(given, torch.nn.Module):
            given = given.named_parameters()
    leaves = list(flatten(given))
    if not leaves:
        raise ConfigError("there are no parameters to train: give model.named_parameters()")
    names = [name for name, _ in leaves]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two parameters have the name '{name}': give each its own")
    if torch is not None and any(isinstance(leaf, torch.Tensor) for _, leaf in leaves):
        return TorchParameters(leaves, module)
    return ArrayParameters(given, leaves)


def flatten(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree of mappings and sequences, named by their path: "layers.0.weight"."""
    if isinstance(tree, Mapping):
        for key, below in tree.items():
            yield from flatten(below, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(tree, Iterator) or _is_pairs(tree):
        for name, leaf in _pairs_of(tree):
            yield (f"{prefix}.{name}" if prefix else str(name)), leaf
    elif isinstance(tree, (list, tuple)):
        for index, below in enumerate(tree):
            yield from flatten(below, f"{prefix}.{index}" if prefix else str(index))
    else:
        yield prefix or "x", tree


def _is_pairs(tree: Any) -> bool:
    """Whether these are names with leaves, as named_parameters() gives them."""
    return isinstance(tree, (list, tuple)) and bool(tree) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in tree)


def _pairs_of(tree: Iterable[Any]) -> list[tuple[str, Any]]:
    pairs = list(tree)
    if pairs and not _is_pairs(pairs):
        raise ConfigError("an iterator gives pairs of a name and an array, and here there are no "
                          "names: give model.named_parameters()")
    return pairs


def _rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    """A tree of the same form with other leaves."""
    if isinstance(tree, Mapping):
        return {key: _rebuild(below, leaves) for key, below in tree.items()}
    if _is_pairs(tree):
        return [(name, next(leaves)) for name, _ in tree]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_rebuild(below, leaves) for below in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_rebuild(below, leaves) for below in tree)
    return next(leaves)


def _module_behind(given: Any) -> Any:
    """The module whose named_parameters() this is, where Python tells; it alone knows buffers."""
    frame = getattr(given, "gi_frame", None)
    module = frame.f_locals.get("self") if frame is not None else None
    return module if hasattr(module, "named_buffers") else None


def _homes_in(module: Any) -> dict[int, tuple[dict[str, Any], str]]:
    """Where a module holds each parameter, by the parameter's id."""
    modules = module.modules() if module is not None else ()
    return {id(tensor): (below._parameters, name)
            for below in modules for name, tensor in below._parameters.items()}


def _refuse_running_statistics(module: Any) -> None:
    for name, buffer in module.named_buffers():
        if buffer is not None and name.rpartition(".")[2] in _RUNNING_STATISTICS:
            raise ConfigError(
                f"'{name}' is a buffer that each node would change by its own batches alone, and "
                "the models would differ: use torch.nn.GroupNorm, or give the layer "
                "track_running_stats=False")


class TorchParameters:
    """Parameters of PyTorch, whose data and gradients become windows on kimesh's vectors."""

    adds_gradient = True

    def __init__(self, leaves: Iterable[tuple[str, Any]], module: Any) -> None:
        self._torch = sys.modules["torch"]
        self._homes = _homes_in(module)
        self._tensors: list[tuple[str, Any]] = []
        self._frozen: list[tuple[str, Any]] = []
        self._windows: list[Any] = []  # of the gradients
        self._addresses: list[int] = []  # of the data
        for name, tensor in leaves:
            self._check(name, tensor)
            (self._tensors if tensor.requires_grad else self._frozen).append((name, tensor))
        if not self._tensors:
            raise ConfigError("no parameter has requires_grad, so that nothing is trained: write "
                              "tensor.requires_grad_()")
        self.trained = [(name, tuple(tensor.shape)) for name, tensor in self._tensors]
        self.frozen = [(name, tuple(tensor.shape)) for name, tensor in self._frozen]

    def _check(self, name: str, tensor: Any) -> None:
        torch = self._torch
        if not isinstance(tensor, torch.Tensor):
            raise ConfigError(f"'{name}' is no tensor of PyTorch, as the others are")
        if tensor.device.type != "cpu":
            raise ConfigError(f"'{name}' lies on {tensor.device}, and kimesh trains what lies on "
                              "the CPU: write model.cpu()")
        if tensor.dtype != torch.float32:
            raise ConfigError(f"'{name}' is {tensor.dtype}, and kimesh trains float32: write "
                              "model.float()")
        if not tensor.is_contiguous():
            raise ConfigError(f"'{name}' is not contiguous: write tensor.data = "
                              "tensor.data.contiguous()")
        if not tensor.is_leaf:
            raise ConfigError(f"'{name}' is the result of a computation: give the parameters of a "
                              "model")

    def frozen_values(self) -> Floats:
        if not self._frozen:
            return np.zeros(0, np.float32)
        return np.concatenate([t.detach().numpy().reshape(-1) for _, t in self._frozen])

    def bind(self, parameters: Floats, gradient: Floats) -> None:
        flat, flat_gradient = (self._torch.from_dlpack(v) for v in (parameters, gradient))
        offset = 0
        for _, tensor in self._tensors:
            size = tensor.numel()
            values = flat[offset:offset + size].view(tensor.shape)
            values.copy_(tensor.detach())
            tensor.data = values
            self._addresses.append(tensor.data_ptr())
            window = flat_gradient[offset:offset + size].view(tensor.shape)
            self._windows.append(window)
            tensor.grad = window
            offset += size

    def take_gradient(self, gradients: Any) -> list[Floats] | None:
        """The gradients that are given, or those that backward() has left. Where a program has
        taken the windows away (zero_grad), what is in their place is copied, and they are put
        back."""
        self._refuse_other_data()
        if gradients is not None:
            arrays = _in_order(gradients, self.trained)
            for (_, tensor), window in zip(self._tensors, self._windows):
                tensor.grad = window
            return arrays
        if all(tensor.grad is None for _, tensor in self._tensors):
            raise ConfigError("no parameter has a gradient: call backward() before mesh.step(), or "
                              "write mesh.step(gradients)")
        for (name, tensor), window in zip(self._tensors, self._windows):
            own = tensor.grad
            if own is None:
                window.zero_()
            elif own.is_sparse:  # it has no memory of its own to compare
                raise ConfigError(f"the gradient of '{name}' is sparse: write sparse=False")
            elif own.data_ptr() != window.data_ptr():
                window.copy_(own)
            tensor.grad = window
        return None

    def _refuse_other_data(self) -> None:
        """A step would not change data that the program has put in the place of the windows."""
        for (name, tensor), address in zip(self._tensors, self._addresses):
            home = self._homes.get(id(tensor))
            if tensor.data_ptr() != address or (home and home[0].get(home[1]) is not tensor):
                raise ConfigError(
                    f"'{name}' has other memory than what kimesh trains, as after tensor.data = "
                    "values, load_state_dict(assign=True) or model.to(): write this before "
                    "kimesh.Mesh(...)")

    def current(self) -> Any:
        return dict(self._tensors + self._frozen)

    def environment(self) -> str:
        threads = self._torch.get_num_threads()
        return (f"PyTorch {self._torch.__version__}, {threads} thread{'s' if threads > 1 else ''}, "
                f"{self._torch.backends.cpu.get_cpu_capability()}")


class ArrayParameters:
    """Arrays of NumPy or JAX, none of which is changed in place."""

    frozen: list[tuple[str, Shape]] = []
    adds_gradient = False

    def __init__(self, tree: Any, leaves: list[tuple[str, Any]]) -> None:
        # An iterator has gone by: its pairs are the tree.
        self._tree = leaves if isinstance(tree, Iterator) else tree
        self._jax: Any = sys.modules.get("jax")
        self._is_jax = [self._jax is not None and isinstance(leaf, self._jax.Array)
                        for _, leaf in leaves]
        self._first = [(name, _floats(leaf, f"'{name}'")) for name, leaf in leaves]
        self.trained = [(name, values.shape) for name, values in self._first]

    def frozen_values(self) -> Floats:
        return np.zeros(0, np.float32)

    def bind(self, parameters: Floats, gradient: Floats) -> None:
        self._windows: list[Floats] = []
        offset = 0
        for _, values in self._first:
            window = parameters[offset:offset + values.size].reshape(values.shape)
            window[...] = values
            self._windows.append(window)
            offset += values.size
        self._first.clear()

    def take_gradient(self, gradients: Any) -> list[Floats] | None:
        if gradients is None:
            raise ConfigError("arrays hold no gradient: write params = mesh.step(gradients)")
        return _in_order(gradients, self.trained)

    def current(self) -> Any:
        # JAX may keep an array's memory for its own: it gets one that nobody writes any more.
        copies = (self._jax.numpy.asarray(window.copy()) if is_jax else window.copy()
                  for window, is_jax in zip(self._windows, self._is_jax))
        return _rebuild(self._tree, copies)

    def environment(self) -> str:
        if any(self._is_jax):
            return f"JAX {self._jax.__version__}"
        return f"NumPy {np.__version__}"


def _in_order(gradients: Any, trained: list[tuple[str, Shape]]) -> list[Floats]:
    """The leaves of a tree that has the form of the parameters, flat and in their order."""
    leaves = dict(flatten(gradients))
    names = [name for name, _ in trained]
    if list(leaves) != names and set(leaves) != set(names):
        missing = next((n for n in names if n not in leaves), None)
        raise ConfigError(
            (f"the gradients have no '{missing}'" if missing is not None else
             f"there is no parameter '{next(n for n in leaves if n not in names)}'") +
            ": give them in the form of the parameters")
    arrays = []
    for name, shape in trained:
        values = _floats(leaves[name], f"the gradient of '{name}'")
        if values.shape != shape:
            raise ConfigError(f"the gradient of '{name}' has shape {list(values.shape)}, and "
                              f"the parameter {list(shape)}")
        arrays.append(values.reshape(-1))
    return arrays


def _floats(leaf: Any, what: str) -> Floats:
    """The leaf as an array of NumPy, without a copy where it lies in the CPU's memory."""
    jax = sys.modules.get("jax")
    if isinstance(leaf, np.ndarray):
        values = leaf
    elif hasattr(leaf, "__dlpack__") and not (jax is not None and isinstance(leaf, jax.Array)):
        values = _lent(leaf, what)
    else:
        values = np.asarray(leaf)  # JAX copies what lies on a GPU
    if values.dtype != np.float32:
        raise _wrong_type(what, values.dtype)
    if not values.flags.c_contiguous:
        raise ConfigError(f"{what} is not contiguous: write numpy.ascontiguousarray, or in PyTorch "
                          ".contiguous()")
    return values


def _lent(leaf: Any, what: str) -> np.ndarray:
    """The memory of an array of any framework, by the protocol DLPack."""
    try:
        device, _ = leaf.__dlpack_device__()
    except (BufferError, RuntimeError, ValueError):  # DLPack has no such device
        device = None
    if device not in _DEVICES_IN_CPU_MEMORY:
        raise ConfigError(f"{what} lies on {getattr(leaf, 'device', 'a GPU')}, and kimesh takes what "
                          "lies on the CPU: write .cpu()")
    if getattr(leaf, "requires_grad", False):  # PyTorch does not lend it then
        leaf = leaf.detach()
    try:
        return np.from_dlpack(leaf)
    except (BufferError, RuntimeError) as error:  # NumPy has no such type, or the owner refuses
        if str(getattr(leaf, "dtype", "float32")).endswith("float32"):
            raise ConfigError(f"{what} cannot be read: {error}") from error
        raise _wrong_type(what, leaf.dtype) from error


def _wrong_type(what: str, dtype: Any) -> ConfigError:
    return ConfigError(f"{what} is {dtype}, and kimesh trains float32: write .astype('float32'), or "
                       "in PyTorch .float()")
