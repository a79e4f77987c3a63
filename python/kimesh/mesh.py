"""One node of a mesh, driven by a training loop in Python."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kimesh import _core
from kimesh._core import ConfigError, MeshError, Wish
from kimesh.answers import classes_of, evaluation_of, state_of, weights_of
from kimesh.arrays import parameters_of
from kimesh.leaving import is_failure, leave_when_let_go, sentence_of, wait_for_end
from kimesh.signals import StopOnSignals

_TICK_S = 0.1  # between two looks at Python's signals while the node is waited for
_log = logging.getLogger("kimesh")

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Link:
    """An outgoing link of this node in the last round; docs/python.md says more."""

    to: str
    rate_bits_per_s: float | None  # estimated from the link's own traffic; None: not known yet
    rate_error: float | None  # its relative standard deviation
    budget_bytes: int  # what the policy allowed; 0: it has no notion of it
    bytes: int  # what the messages took, headers included
    kept: int  # values that were sent ...
    elements: int  # ... of so many
    gain: float  # share of the wanted vector's energy that the far side then holds
    wire_s: float  # how long the link was busy


class Mesh:
    """A node of a mesh, which trains the given parameters together with the other nodes.

    parameters: a PyTorch module or its `named_parameters()`, whose tensors become windows on
        kimesh's memory, gradients included; or a tree (mappings, sequences) of float32 arrays of
        NumPy, JAX, or of whatever knows DLPack, which are never changed in place. Names, order and
        shapes are the same at all nodes.
    config: the YAML file of the run, with `objective: own`; topology: that of the nodes; name:
        which of them this process is.
    evaluate: scores the parameters on this node's part of the test set, and returns an Evaluation
        or such a tuple. It is called inside `running` and `step`, every `evaluate_every` rounds;
        the parameters are the agreed ones then.
    state: two functions, the first of which returns what the loop must keep in a checkpoint as
        bytes, the second of which takes it back when the run goes on.
    weights: a safetensors file from which all nodes start; all must name the same values. Without
        it all start from the parameters of the topology's first node, which sends them.
    folder: where records and checkpoints go; nodes of one machine may share one. Without it, a new
        one under ./runs.
    resume: the folder of an earlier run, which goes on from its newest checkpoint.
    keys: the folder of the keys, where links are encrypted and the topology does not name it.
    on_round: gets the record of each round, a dict with the fields of the run's records.
    on_notice: gets sentences, such as what the node waits for; without it, the logger `kimesh`
        warns of them.

    Raises ConfigError with kimesh's sentences, one a line, where something is wrong before the
    start. Nothing is sent before the first `running`, `round` or `step`: an exception before it
    reaches no other node. All calls come from one thread.
    """

    def __init__(
        self,
        parameters: Any,
        *,
        config: Path | None = None,
        topology: Path | None = None,
        name: str,
        evaluate: Callable[[], tuple[Any, ...]] | None = None,
        state: tuple[Callable[[], bytes], Callable[[bytes], None]] | None = None,
        weights: Path | None = None,
        folder: Path | None = None,
        resume: Path | None = None,
        keys: Path | None = None,
        on_round: Callable[[dict[str, Any]], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        if resume is not None and folder is not None:
            raise ConfigError("folder names a new run and resume one that is there: "
                              "give one of them")
        if resume is not None:
            config = config or os.path.join(resume, "config.yaml")
            if topology is None:  # its copy lies elsewhere than the keys that it names
                topology = os.path.join(resume, "topology.yaml")
                keys = keys or _core.keys_folder(os.fspath(resume))
        if config is None or topology is None:
            raise ConfigError("config and topology are required, or resume with the folder of a "
                              "run")
        self._parameters = parameters_of(parameters)
        first = None
        if weights is not None:  # before there is a folder of the run
            first = weights_of(os.fspath(weights), self._parameters.trained)
        self._evaluate = evaluate
        self._state = state
        self._on_round = on_round
        self._on_notice = on_notice or _log.warning
        self._last: dict[str, Any] | None = None
        self._end: tuple[str, str, str, int, float] | None = None
        self._showing = False
        self._answering = False
        self._labels: Any = object()  # those that were dealt out; at first nobody's
        self.name = name
        self._node = _core.Node(
            config=os.fspath(config), topology=os.fspath(topology), name=name,
            parameters=[(n, list(s)) for n, s in self._parameters.trained],
            frozen=[(n, list(s)) for n, s in self._parameters.frozen],
            frozen_values=self._parameters.frozen_values(),
            first_nodes=weights is None, evaluates=evaluate is not None,
            has_state=state is not None, adds_gradient=self._parameters.adds_gradient,
            environment=f"Python {platform.python_version()}, {self._parameters.environment()}",
            command=list(sys.argv), folder=os.fspath(resume or folder or ""),
            resumes=resume is not None, keys=os.fspath(keys or ""))
        self._vector = self._node.parameters()
        self._parameters.bind(self._vector, self._node.gradient())
        if first is not None:
            np.concatenate(first, out=self._vector)
        self._signals = StopOnSignals(self._node.stop)
        self._started = False

    # ---- the loop

    @property
    def running(self) -> bool:
        """Whether a gradient is wanted. Waits until one is, or until the mesh has ended: by rounds,
        accuracy, loss or time of the config, or by Ctrl-C at any node. Raises MeshError with the
        reason where it has failed."""
        return self._wanted()

    @property
    def round(self) -> int:
        """The round whose gradient is wanted, by which to choose the data. Waits as `running`."""
        if not self._answering:
            self._wanted()
        return self._node.round()

    @property
    def batch(self) -> int:
        """As `round`, where the node takes one step in a round. With `local_steps: H` the number
        of the batch: H follow one another in a round."""
        if not self._answering:
            self._wanted()
        return self._node.batch()

    def step(self, gradients: Any = None, *, loss: float | None = None) -> Any:
        """Hands the gradient over and waits until the next one is wanted, or the mesh has ended.

        PyTorch: after backward(), without gradients; the parameters hold the next point then, and
        their gradients are zero. Arrays: with gradients in the form of the parameters, which PyTorch's
        parameters take as well; they may be arrays of NumPy, JAX, PyTorch or whatever knows DLPack.
        Gives the parameters in the form in which they were given; arrays that are neither NumPy's
        nor JAX's become NumPy's. loss: of the batch, for the records, which hold null at all nodes
        without it.
        """
        if self._showing:
            raise ConfigError("step belongs behind the block of agreed()")
        if self._wanted():
            arrays = self._parameters.take_gradient(gradients)
            # To the node, NaN says that the loss is not known; one that is NaN ends the run.
            told = math.nan if loss is None else float(loss)
            self._node.give_gradient(math.inf if loss is not None and math.isnan(told) else told, 0,
                                     arrays)
            self._wanted()
        return self._parameters.current()

    @contextlib.contextmanager
    def agreed(self) -> Iterator[Any]:
        """In its block the parameters are what the nodes agree on: those of the round that ended
        last, and after the end those of the run. Gradients may be wanted ahead of them. With
        `gather: per_link` each node has its own copy until the run ends. Waits for the messages of
        that round. Gives the parameters."""
        if self._showing:
            raise ConfigError("this is a block of agreed() already")
        shown = False
        while not shown and self._wanted():
            shown = self._node.show_round(_TICK_S)
        self._showing = shown
        try:
            yield self._parameters.current()
        finally:
            self._showing = False
            if shown:
                self._node.show_point()

    def stop(self) -> None:
        """Ends the run of all nodes, as Ctrl-C does. Any thread may call it."""
        self._node.stop()

    def save_checkpoint(self) -> None:
        """Asks for a checkpoint of all nodes at the end of one of the next rounds."""
        self._node.save_now()

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: Any) -> None:
        self.close(error)

    def close(self, error: BaseException | None = None) -> None:
        """Leaves the mesh, which ends the run where it has not ended: as a failure of this node,
        where there is an error. It raises nothing: `outcome` and `text` say how the run ended."""
        if self._end is None and self._started:
            if error is not None and is_failure(error):
                self._node.fail(sentence_of(error))
            else:
                self._node.stop()
            wait_for_end(self._node)
            self._take_end()
        self._signals.give_back()

    # ---- what is known

    @property
    def parameters(self) -> Any:
        """The parameters as they are now, in the form in which they were given."""
        return self._parameters.current()

    @property
    def last_round(self) -> dict[str, Any] | None:
        """The record of the last round that ended, with the fields of the run's records."""
        return self._last

    @property
    def links(self) -> list[Link]:
        """The outgoing links of this node in the last round."""
        fields = Link.__dataclass_fields__
        links = self._last["links"] if self._last else []
        return [Link(**{name: link.get(name) for name in fields}) for link in links]

    @property
    def accuracy(self) -> float | None:
        """The mesh's, of the latest evaluation; None: there was none."""
        return self._last.get("accuracy") if self._last else None

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes, in the order of the topology."""
        return self._node.nodes()

    @property
    def seed(self) -> int:
        """The seed of the config."""
        return self._node.seed()

    @property
    def folder(self) -> str:
        """The folder of the run."""
        return self._node.folder()

    @property
    def outcome(self) -> str | None:
        """"done", "stopped" or "failed"; None: it has not ended."""
        return self._end[0] if self._end else None

    @property
    def reason(self) -> str | None:
        """What ended it: "rounds", "accuracy", "loss", "time", "traffic", "stopped" or "none"."""
        return self._end[1] if self._end else None

    @property
    def text(self) -> str:
        """Why, when stopped or failed."""
        return self._end[2] if self._end else ""

    def indices(self, labels: Sequence[int], size: int) -> np.ndarray:
        """The samples of the wanted batch, `size` of them, of a data set that all nodes have and
        that is dealt out evenly among them: the same that `kimesh` takes with `split: even`.
        labels: the class of each sample; all 0 where there are no classes. An object is looked
        through at its first call alone: after a change in place, give a copy."""
        if not self._answering:
            self._wanted()
        if self._labels is not labels:
            self._node.deal_out(classes_of(labels))
            self._labels = labels
        return np.asarray(self._node.indices(size), np.int64)

    def test_indices(self, labels: Sequence[int]) -> np.ndarray:
        """The samples that this node evaluates, of a test set that all nodes have."""
        return np.asarray(self._node.test_indices(classes_of(labels)), np.int64)

    # ---- within

    def _wanted(self) -> bool:
        """Answers the node until it wants a gradient, or the run is over."""
        if self._end is not None:
            return False
        if self._answering:
            raise ConfigError("evaluate, state, on_round and on_notice are called by the mesh, which "
                              "waits for them: there is no running, step or agreed() within")
        if not self._started:
            self._started = True
            leave_when_let_go(self, self._node, self._signals)
            self._signals.take()
        try:
            while True:
                wish = self._node.wait(_TICK_S)
                self._answering = True
                try:
                    self._tell(self._node.take_events())
                    if wish is Wish.GRADIENT:
                        return True
                    if wish is Wish.END:
                        break
                    self._answer(wish)
                finally:
                    self._answering = False
        except BaseException as error:
            self.close(error)
            raise
        self._take_end()
        if self.outcome == "failed":
            raise MeshError(self.text)
        return False

    def _answer(self, wish: Wish) -> None:
        if wish is Wish.EVALUATION and self._evaluate is not None:
            self._node.give_evaluation(*evaluation_of(self._evaluate()))
        elif wish is Wish.STATE and self._state is not None:
            self._node.give_state(state_of(self._state[0]()))
        elif wish is Wish.RESTORE and self._state is not None:
            self._state[1](self._node.take_restored())

    def _tell(self, events: list[tuple[str, str]]) -> None:
        for kind, text in events:
            if kind == "notice":
                self._on_notice(f"node {self.name}: {text}")
                continue
            self._last = json.loads(text)
            if self._on_round is not None:
                self._on_round(self._last)

    def _take_end(self) -> None:
        self._end = self._node.end()
        self._signals.give_back()
