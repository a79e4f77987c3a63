"""What a program hands over beside its parameters is refused by a sentence where it is wrong."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import kimesh
from meshes import MeshTest

X = {"x": np.ones(9, np.float32)}


class Answers(MeshTest):
    def end_with(self, folder: str, more: str = "", **callbacks: Any) -> dict[str, Any]:
        config = self.config(stop="{rounds: 4}", more=f"evaluate_every: 2\n{more}")
        topology = self.ring("ab")

        def node(name: str) -> tuple[Any, ...]:
            mesh = self.mesh(X, name, config, topology, folder=self.folder / folder, **callbacks)
            while mesh.running:
                mesh.step(X)
            return mesh.outcome, mesh.accuracy

        return self.run_nodes("ab", node)

    # Seen to fail: 20 correct of 10 samples were an accuracy of 2, and 0.5 correct were none.
    def test_scores_that_cannot_be_end_the_run(self) -> None:
        for index, (score, sentence) in enumerate({
                (20, 10): "evaluate returned 20 correct of 10 samples",
                (-1, 10): "evaluate returned -1 correct of 10 samples",
                (0.5, 10): r"evaluate returned \(0.5, 10\): return two whole numbers",
                ("5", 10): r"evaluate returned \('5', 10\): return two whole numbers",
                (5,): r"evaluate returned \(5,\): return two whole numbers",
                None: "evaluate returned None: return two whole numbers"}.items()):
            for end in self.end_with(f"{index}", evaluate=lambda: score).values():
                self.assertIsInstance(end, (kimesh.ConfigError, kimesh.MeshError))
                self.assertRegex(str(end), sentence)

    def test_scores_are_numbers_of_any_kind(self) -> None:
        for index, score in enumerate(((5, 10), (np.int64(5), np.float32(10), np.float32(1)),
                                       kimesh.Evaluation(5, 10, float("nan")), [5.0, 10])):
            ends = self.end_with(f"{index}", evaluate=lambda: score)
            self.assertEqual(ends, {"a": ("done", 0.5), "b": ("done", 0.5)})

    # Seen to fail: a bytearray was refused, and text by C++'s signature of a function.
    def test_states_are_bytes(self) -> None:
        checkpoints = "checkpoint: {every_rounds: 2}"
        ends = self.end_with("bytearray", checkpoints, state=(lambda: bytearray(3), lambda _: None))
        self.assertEqual(ends, {"a": ("done", None), "b": ("done", None)})
        ends = self.end_with("text", checkpoints, state=(lambda: "text", lambda _: None))
        for end in ends.values():
            self.assertIn("the first function of state returned a str: return bytes", str(end))

    # Seen to fail: parts of numbers were cut off, and the others got C++'s signature of a function.
    def test_labels_are_one_class_for_each_sample(self) -> None:
        mesh = self.mesh(X, "a", self.config(), self.ring("ab"))
        for sentence, wrong in {
                r"labels have shape \[10, 10\]: .*argmax": np.eye(10),
                r"labels have shape \[\]": 3,
                "labels are float64: give classes that are whole numbers": [0.5, 1.5, 2.5],
                "labels are <U1": ["x", "y"],
                "labels cannot be read": [[1], [2, 3]],
                "fewer samples than nodes": []}.items():
            with self.assertRaisesRegex(kimesh.ConfigError, sentence):
                mesh.test_indices(wrong)
        for right in ([0, 1, 2], np.zeros(9, np.uint8), np.zeros(9, bool), range(4)):
            self.assertGreater(len(mesh.test_indices(right)), 0)

    # Seen to fail: MeshError, with a folder of a run that never was.
    def test_weights_that_cannot_be_read_leave_no_folder(self) -> None:
        config, topology = self.config(), self.ring("ab")
        for weights in ("missing.safetensors", "config.yaml"):
            with self.assertRaisesRegex(kimesh.ConfigError, weights):
                self.mesh(X, "a", config, topology, weights=self.folder / weights)
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
