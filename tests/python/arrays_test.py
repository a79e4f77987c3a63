"""Arrays of any framework that knows DLPack as parameters and gradients."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import kimesh
from meshes import MeshTest


class Lent:
    """What an array of another framework shows of itself: the protocol DLPack, and its device."""

    def __init__(self, values: np.ndarray, kind: int = 1, device: str = "cpu") -> None:
        self._values, self._kind, self.device = values, kind, device

    def __dlpack__(self, **wanted: Any) -> Any:
        return self._values.__dlpack__(**wanted)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._kind, 0


class OtherArrays(MeshTest):
    def test_give_parameters_and_gradients_with_the_bits_of_numpy(self) -> None:
        config, topology = self.config(stop="{rounds: 3}"), self.ring("ab")

        def node(name: str, form: Any) -> Any:
            mesh = self.mesh({"x": form(np.arange(100, dtype=np.float32))}, name, config, topology,
                             folder=self.folder / form.__name__)
            while mesh.running:
                mesh.step({"x": form(mesh.parameters["x"] * np.float32(0.3))})
            return mesh.parameters

        lent = self.run_nodes("ab", lambda name: node(name, Lent))
        plain = self.run_nodes("ab", lambda name: node(name, np.asarray))
        for name in "ab":
            self.assertIsInstance(lent[name]["x"], np.ndarray)
            self.assert_equal_bits(lent[name], plain[name])

    def test_are_refused_with_a_sentence_that_changes_no_gradient(self) -> None:
        config, topology = self.config(stop="{rounds: 1}"), self.ring("ab")
        on_gpu = Lent(np.zeros(3, np.float32), 2, "cuda:0")
        with self.assertRaisesRegex(kimesh.ConfigError, "'x' lies on cuda:0, .* write .cpu()"):
            self.mesh({"x": on_gpu}, "a", config, topology)
        wrong = {
            "the gradient of 'y' lies on cuda:0, and kimesh takes what lies on the CPU": on_gpu,
            "the gradient of 'y' is float64, and kimesh trains float32": Lent(np.zeros(3)),
            "the gradient of 'y' is not contiguous": Lent(np.zeros((3, 2), np.float32)[:, 0])}

        def node(name: str) -> Any:
            given = {"x": np.zeros(3, np.float32), "y": np.zeros(3, np.float32)}
            with self.mesh(given, name, config, topology) as mesh:
                self.assertTrue(mesh.running)
                for sentence, array in wrong.items():
                    with self.assertRaisesRegex(kimesh.ConfigError, sentence):
                        mesh.step({"x": np.ones(3, np.float32), "y": array})
                self.assertEqual(mesh._node.gradient().tolist(), [0] * 6)
                return mesh.step({"x": np.ones(3, np.float32), "y": Lent(np.ones(3, np.float32))})

        for end in self.run_nodes("ab", node).values():
            np.testing.assert_allclose(end["y"], -0.1, rtol=1e-6)


class Forms(MeshTest):
    def assert_refused(self, sentence: str, parameters: Any) -> None:
        with self.assertRaisesRegex(kimesh.ConfigError, sentence):
            self.mesh(parameters, "a", self.config(), self.ring("ab"))

    # Seen to fail: arrays whose first dimension is 2 became a name and a row.
    def test_an_iterator_without_names_is_refused(self) -> None:
        for shape in ((2, 3), (4, 3), ()):
            self.assert_refused(r"no names: give model.named_parameters\(\)",
                                iter([np.ones(shape, np.float32)]))
        self.assert_refused("no names", iter([("w", np.ones(3, np.float32), 1)]))
        self.assert_refused("there are no parameters", iter([]))
        mesh = self.mesh(iter([("w", np.ones((2, 3), np.float32))]), "a", self.config(),
                         self.ring("ab"))
        self.assertEqual([(name, w.shape) for name, w in mesh.parameters], [("w", (2, 3))])

    # Seen to fail: the process was aborted.
    def test_parameters_without_a_value_are_refused_by_name(self) -> None:
        self.assert_refused(r"layer 'e' has shape \[0, 3\], and so no value: leave it out",
                            {"w": np.ones(3, np.float32), "e": np.ones((0, 3), np.float32)})
        self.assert_refused("layer 'w' has shape", {"w": np.ones(0, np.float32)})


if __name__ == "__main__":
    unittest.main()
