"""The extension module: its stubs tell what is there, and Python's lock is free while it waits."""

from __future__ import annotations

import ast
import copy
import inspect
import re
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import kimesh
from kimesh import _core, mesh as loop
from meshes import MeshTest

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


if __name__ == "__main__":
    unittest.main()
