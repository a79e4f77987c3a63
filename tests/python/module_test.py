"""The extension module: its stubs tell what is there, and Python's lock is free while it waits.
Signals are a mesh's while it runs, and no longer."""

from __future__ import annotations

import ast
import concurrent.futures
import copy
import inspect
import multiprocessing
import re
import signal
import sys
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import kimesh
from kimesh import _core, mesh as loop
from kimesh.signals import StopOnSignals
from meshes import LIMIT_S, MeshTest

STUBS = ast.parse((Path(kimesh.__file__).parent / "_core.pyi").read_text())
PLAIN = {"int", "float", "str", "bool", "bytes", "None", "Wish", "list[str]", "list[int]",
         "Sequence[str]"}


def public(thing: Any) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def types_of(function: ast.FunctionDef) -> list[str]:
    """Of the parameters, then of the result; empty where none is told."""
    given = [*function.args.args, *function.args.kwonlyargs]
    return [ast.unparse(kind) if kind else ""
            for kind in (*(argument.annotation for argument in given), function.returns)]


def without_types(function: ast.FunctionDef) -> str:
    """Names of the parameters, in order, with the mark of those that go by name alone."""
    arguments = copy.deepcopy(function.args)
    for argument in (*arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    return ast.unparse(arguments)


def written(function: Any) -> ast.FunctionDef:
    """The signature that nanobind has written from the C++ types."""
    (text, *_), = function.__nb_signature__
    text = re.sub(r"(numpy\.)?ndarray\[[^\]]*\]", "Array", text)
    text = re.sub(r"(kimesh\._core|collections\.abc)\.", "", text)
    function, = ast.parse(f"{text}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return function


class Stubs(unittest.TestCase):
    def assert_alike(self, stub: ast.FunctionDef, function: Any) -> None:
        there = written(function)
        self.assertEqual(without_types(stub), without_types(there), stub.name)
        for ours, theirs in zip(types_of(stub), types_of(there)):
            if ours in PLAIN or theirs in PLAIN:
                self.assertEqual(ours, theirs, f"a type of {stub.name}")

    def test_name_what_the_module_has(self) -> None:
        classes = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef)}
        functions = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(set(classes) | set(functions), public(_core))
        for name, stub in functions.items():
            self.assert_alike(stub, getattr(_core, name))
        for name, stub in classes.items():
            there = getattr(_core, name)
            self.assertEqual([ast.unparse(base).rpartition(".")[2] for base in stub.bases],
                             [base.__name__ for base in there.__bases__ if base is not object])
        wishes = [node.targets[0].id for node in classes["Wish"].body
                  if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
        self.assertEqual(wishes, [wish.name for wish in _core.Wish])

    def test_tell_the_methods_of_a_node(self) -> None:
        node, = (n for n in STUBS.body if isinstance(n, ast.ClassDef) and n.name == "Node")
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        self.assertEqual({name for name in methods if not name.startswith("_")},
                         public(_core.Node))
        for name, stub in methods.items():
            self.assert_alike(stub, getattr(_core.Node, name))

    def test_are_not_needed_where_python_itself_is_annotated(self) -> None:
        for name in kimesh.__all__:
            thing = getattr(kimesh, name)
            self.assertTrue(inspect.getdoc(thing), name)
            if inspect.isfunction(thing):
                self.assertNotIn(inspect.Signature.empty,
                                 [p.annotation for p in inspect.signature(thing).parameters.values()])


class Watched:
    """A node, with a note of each wait that took the whole of its time."""

    def __init__(self, node: Any, over: list[str]) -> None:
        self._node, self._over = node, over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def wait(self, seconds: float) -> _core.Wish:
        wish = self._node.wait(seconds)
        self.events = self._node.take_events()
        if wish is _core.Wish.NOTHING and not self.events:
            self._over.append(f"{seconds} s")
        return wish

    def take_events(self) -> list[tuple[str, str]]:
        return self.events


class Lock(MeshTest):
    # A wait that held the lock would last until its time is over, since the thread that makes the
    # other node go on never ran.
    @mock.patch.object(loop, "_TICK_S", 30)
    def test_is_free_while_a_step_waits(self) -> None:
        config, topology = self.config(stop="{rounds: 3}"), self.ring("ab")
        counted = threading.Condition()
        count, ended, over = 0, False, []

        def counts() -> None:
            nonlocal count
            while not ended:
                with counted:
                    count += 1
                    counted.notify_all()

        def node(name: str) -> str | None:
            mesh = self.mesh({"x": np.ones(9, np.float32)}, name, config, topology)
            mesh._node = Watched(mesh._node, over)
            while mesh.running:
                if name == "b":  # meanwhile a waits
                    with counted:
                        goal = count + 1000
                        counted.wait_for(lambda: count >= goal)
                mesh.step({"x": np.ones(9, np.float32)})
            return mesh.outcome

        other = threading.Thread(target=counts)
        other.start()
        try:
            ends = self.run_nodes("ab", node)
        finally:
            ended = True
            other.join()
        self.assertEqual(ends, {"a": "done", "b": "done"})
        self.assertGreaterEqual(count, 3000)
        self.assertEqual(over, [])


class Signals(MeshTest):
    def setUp(self) -> None:
        super().setUp()
        self.defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        for number, default in self.defaults.items():  # a shell's background has others
            self.addCleanup(signal.signal, number, signal.signal(number, default))

    def handlers(self) -> dict[signal.Signals, Any]:
        return {number: signal.getsignal(number) for number in self.defaults}

    def take(self) -> tuple[StopOnSignals, list[str]]:
        """What has taken the signals, and a list that tells of each stop."""
        stops: list[str] = []
        signals = StopOnSignals(lambda: stops.append("stop"))
        signals.take()
        self.addCleanup(signals.give_back)
        return signals, stops

    def test_stop_the_mesh_once(self) -> None:
        _, stops = self.take()
        signal.raise_signal(signal.SIGTERM)
        self.assertEqual(stops, ["stop"])
        self.assertEqual(self.handlers(), self.defaults)

    def test_end_a_forked_child(self) -> None:
        _, stops = self.take()
        taken = self.handlers()
        fork = multiprocessing.get_context("fork")
        here, there = fork.Pipe()

        def wait() -> None:
            there.send("up")
            there.recv()

        child = fork.Process(target=wait)
        child.start()
        self.addCleanup(child.kill)
        self.assertTrue(here.poll(LIMIT_S))
        child.terminate()
        child.join(LIMIT_S)
        self.assertEqual(child.exitcode, -signal.SIGTERM)
        self.assertEqual(stops, [])
        self.assertEqual(self.handlers(), taken)

    def test_are_pythons_after_another_thread_has_given_them_back(self) -> None:
        signals, stops = self.take()
        other = threading.Thread(target=signals.give_back)
        other.start()
        other.join()
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        self.assertEqual(stops, [])
        self.assertEqual(self.handlers(), self.defaults)

    def end_of_other(self, error: BaseException | None) -> Any:
        """How another node ends when a program lets its mesh go, after an error of before the start
        and `error`, and that the mesh has had the signals until then."""
        config, topology = self.config(stop="{rounds: 1000000}"), self.ring("ab")
        x = {"x": np.ones(9, np.float32)}

        def other() -> str | None:
            mesh = self.mesh(x, "b", config, topology)
            while mesh.running:
                mesh.step(x)
            return mesh.outcome

        with (mock.patch.object(sys, "last_value", OSError("an old error"), create=True),
              concurrent.futures.ThreadPoolExecutor(1) as threads):
            end = threads.submit(other)
            mesh = self.mesh(x, "a", config, topology)
            while mesh.running and mesh.round < 3:
                mesh.step(x)
            taken = self.handlers()
            if error is not None:
                sys.last_value = error
            del mesh
            self.assertNotEqual(taken, self.defaults)
            self.assertEqual(self.handlers(), self.defaults)
            return end.exception(LIMIT_S) or end.result()

    def test_are_given_back_by_a_mesh_that_is_let_go(self) -> None:
        self.assertEqual(self.end_of_other(None), "stopped")

    def test_are_given_back_where_an_error_ends_the_program(self) -> None:
        end = self.end_of_other(OSError("a new error"))
        self.assertIsInstance(end, kimesh.MeshError)
        self.assertIn("the program's loop ended: OSError: a new error", str(end))


if __name__ == "__main__":
    unittest.main()
