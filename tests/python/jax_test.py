"""The package with JAX: a tree of arrays in, the next one out, the bits of NumPy."""

from __future__ import annotations

import unittest
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import kimesh
from meshes import MeshTest


class Steps(MeshTest):
    def train(self, name: str, given: Any, step: Any) -> Any:
        mesh = self.mesh(given, name, self.folder / "config.yaml", self.folder / "ring.yaml",
                         folder=self.folder / type(given["w"]).__module__)
        while mesh.running:
            given = mesh.step(step(given))
        return given

    def test_have_the_bits_of_numpy(self) -> None:
        self.config()
        self.ring("ab")
        mine = self.run_nodes("ab", lambda name: self.train(
            name, {"w": jnp.arange(100, dtype=jnp.float32), "b": [jnp.ones((2, 3))]},
            lambda p: {"w": p["w"] * 0.5, "b": [p["b"][0] * 0.25]}))
        self.ring("ab")
        theirs = self.run_nodes("ab", lambda name: self.train(
            name, {"w": np.arange(100, dtype=np.float32), "b": [np.ones((2, 3), np.float32)]},
            lambda p: {"w": p["w"] * np.float32(0.5), "b": [p["b"][0] * np.float32(0.25)]}))
        for name in "ab":
            self.assertIsInstance(mine[name]["w"], jax.Array)
            self.assertEqual(np.asarray(mine[name]["w"]).tobytes(), theirs[name]["w"].tobytes())
            self.assertEqual(np.asarray(mine[name]["b"][0]).tobytes(),
                             theirs[name]["b"][0].tobytes())

    def test_take_gradients_of_grad_and_keep_arrays_that_were_given(self) -> None:
        self.config(stop="{rounds: 100}")
        self.ring("ab")
        slope = jax.jit(jax.grad(lambda p: ((p["w"] - 3) ** 2).sum() + (p["b"][0] ** 2).sum()))
        first = {"w": jnp.zeros(10), "b": [jnp.ones((2, 3))]}
        ends = self.run_nodes("ab", lambda name: self.train(name, first, slope))
        self.assertEqual(first["w"].tolist(), [0] * 10)
        np.testing.assert_allclose(np.asarray(ends["a"]["w"]), 3, atol=0.1)

    def test_take_gradients_of_either_kind_and_refuse_other_types(self) -> None:
        config, topology = self.config(stop="{rounds: 1}"), self.ring("ab")

        def node(name: str) -> Any:
            first, other = (np, jnp) if name == "a" else (jnp, np)
            mesh = self.mesh({"w": first.zeros(3, np.float32)}, name, config, topology)
            self.assertTrue(mesh.running)
            with self.assertRaisesRegex(kimesh.ConfigError, "is bfloat16, and kimesh trains float32"):
                mesh.step({"w": jnp.ones(3, jnp.bfloat16)})
            return mesh.step({"w": other.ones(3, np.float32)})["w"]

        ends = self.run_nodes("ab", node)
        self.assertIsInstance(ends["a"], np.ndarray)
        self.assertIsInstance(ends["b"], jax.Array)
        for end in ends.values():
            np.testing.assert_allclose(np.asarray(end), -0.1, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
