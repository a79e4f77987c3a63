"""The package with NumPy: steps, agreed parameters, checkpoints, ends and sentences."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import kimesh
from meshes import MeshTest

EXAMPLES = Path(__file__).parents[2] / "python" / "examples"
SIZE = 3000
AHEAD = ("{policy: fixed, compressor: topk, ratio: 0.2, feedback: ef14, gather: shared, "
         "look_ahead: true, overlap: true}")


def curvature(name: str) -> np.ndarray:
    """Of f(x) = 1/2 Σ a_j (x_j - b)², the part of node `name`."""
    return np.random.default_rng(ord(name)).uniform(0.5, 1.5, SIZE).astype(np.float32)


def gradient(name: str, x: np.ndarray) -> np.ndarray:
    return curvature(name) * (x - np.float32(ord(name) - ord("a")))


def start(name: str) -> dict[str, Any]:
    """Another one at each node; that of the first node counts."""
    return {"x": np.full(SIZE, ord(name) - ord("a"), np.float32)}


class Steps(MeshTest):
    def descend(self, mesh: kimesh.Mesh, parameters: dict[str, Any]) -> dict[str, Any]:
        while mesh.running:
            parameters = mesh.step({"x": gradient(mesh.name, mesh.parameters["x"])})
        return parameters

    def test_have_the_bits_of_numpy(self) -> None:
        config, topology = self.config(), self.ring("ab")
        ends = self.run_nodes(
            "ab", lambda n: self.descend(self.mesh(start(n), n, config, topology), start(n)))
        x = start("a")["x"]
        movements = {name: np.zeros(SIZE, np.float32) for name in "ab"}
        for _ in range(20):
            for name, movement in movements.items():
                movement *= np.float32(0.9)
                movement += gradient(name, x)
            half = np.float32(0.5)
            x = x - np.float32(0.1) * (half * movements["a"] + half * movements["b"])
        for name in "ab":
            self.assert_equal_bits(ends[name], {"x": x})

    def test_keep_the_form_of_the_parameters_and_change_none_in_place(self) -> None:
        config, topology = self.config(stop="{rounds: 3}"), self.ring("ab")

        def node(name: str) -> Any:
            given = {"layers": [np.ones((2, 3), np.float32), np.ones(4, np.float32)],
                     "scale": np.float32(2) * np.ones((), np.float32)}
            mesh = self.mesh(given, name, config, topology)
            parameters = given
            while mesh.running:
                before = parameters
                parameters = mesh.step({"layers": [w * 0 + 1 for w in before["layers"]],
                                        "scale": np.ones((), np.float32)})
                self.assertIsNot(parameters["layers"][0], before["layers"][0])
            self.assertEqual(given["layers"][0].tolist(), [[1, 1, 1], [1, 1, 1]])
            return parameters

        ends = self.run_nodes("ab", node)
        for name in "ab":
            self.assertEqual([w.shape for w in ends[name]["layers"]], [(2, 3), (4,)])
            self.assertAlmostEqual(float(ends[name]["scale"]), 2 - 0.1 * (1 + 1.9 + 2.71), 5)

    def test_take_the_gradient_ahead_and_show_what_is_agreed(self) -> None:
        config, topology = self.config(compression=AHEAD), self.ring("abc")

        def node(name: str) -> Any:
            mesh = self.mesh(start(name), name, config, topology)
            shown, apart = [], 0
            while mesh.running:
                with mesh.agreed() as agreed:
                    shown.append(agreed["x"])
                    self.assertTrue((mesh.parameters["x"] == agreed["x"]).all())
                point = mesh.parameters["x"]
                apart += not (point == shown[-1]).all()
                mesh.step({"x": gradient(name, point)})
            with mesh.agreed() as agreed:
                shown.append(agreed["x"])
            self.assertGreater(apart, 10)
            return shown

        ends = self.run_nodes("abc", node)
        for name in "bc":
            self.assertEqual(len(ends[name]), 21)
            for mine, theirs in zip(ends[name], ends["a"]):
                self.assertEqual(mine.tobytes(), theirs.tobytes())

    def test_evaluate_at_the_agreed_parameters_until_a_target(self) -> None:
        config = self.config(stop="{rounds: 500, accuracy: 0.9}", more="evaluate_every: 5")
        topology = self.ring("ab")

        def node(name: str) -> Any:
            def score() -> tuple[int, int, float]:
                far = float(np.abs(mesh.parameters["x"] - 0.5).mean())
                return int(far < 0.5), 1, far

            rounds = []
            mesh = self.mesh(start(name), name, config, topology, evaluate=score,
                             on_round=lambda record: rounds.append(record["round"]))
            self.descend(mesh, start(name))
            self.assertEqual(rounds, list(range(len(rounds))))
            self.assertEqual([link.to for link in mesh.links], ["b" if name == "a" else "a"])
            return mesh.reason, mesh.accuracy

        ends = self.run_nodes("ab", node)
        self.assertEqual(ends, {"a": ("accuracy", 1.0), "b": ("accuracy", 1.0)})

    def test_go_on_from_a_checkpoint_with_the_loops_state(self) -> None:
        config = self.config(compression="{policy: fixed, compressor: topk, ratio: 0.2}",
                             stop="{rounds: 300}", more="checkpoint: {every_rounds: 10}")
        topology = self.ring("ab")

        def node(name: str, stops: bool = False, **more: Any) -> Any:
            noise = np.random.default_rng(ord(name))

            def load(state: bytes) -> None:
                noise.bit_generator.state = eval(state.decode())  # noqa: S307: written by save

            mesh = self.mesh(start(name), name, config, topology, state=(
                lambda: repr(noise.bit_generator.state).encode(), load), **more)
            first = mesh.round
            while mesh.running:
                x = mesh.parameters["x"]
                held = all((Path(mesh.folder) / "checkpoints" / n / "9.checkpoint").exists()
                           for n in "ab")
                if stops and held and mesh.round > 12:
                    mesh.stop()
                mesh.step({"x": gradient(name, x) + noise.standard_normal(SIZE, np.float32)})
            return first, mesh.outcome, mesh.parameters

        whole = self.run_nodes("ab", lambda n: node(n, folder=self.folder / "whole"))
        begun = self.run_nodes("ab", lambda n: node(n, stops=n == "a"))
        self.assertEqual({end[1] for end in begun.values()}, {"stopped"})
        resumed = self.run_nodes("ab", lambda n: node(n, resume=self.folder / "run"))
        for name in "ab":
            first, outcome, parameters = resumed[name]
            self.assertGreater(first, 0)
            self.assertEqual(first % 10, 0)
            self.assertEqual(outcome, "done")
            self.assert_equal_bits(parameters, whole[name][2])


    def test_let_callbacks_ask_and_not_step(self) -> None:
        config = self.config(more="evaluate_every: 5")
        topology = self.ring("ab")

        def node(name: str) -> Any:
            asked = []

            def score() -> tuple[int, int, float]:
                asked.append(mesh.round)
                with self.assertRaisesRegex(kimesh.ConfigError, "called by the mesh"):
                    mesh.step(start(name))
                with self.assertRaisesRegex(kimesh.ConfigError, "called by the mesh"):
                    _ = mesh.running
                return 0, 1, 0.0

            mesh = self.mesh(start(name), name, config, topology, evaluate=score,
                             on_round=lambda record: asked.append(mesh.round))
            while mesh.running:
                with mesh.agreed():
                    with self.assertRaisesRegex(kimesh.ConfigError, "a block of agreed"):
                        with mesh.agreed():
                            pass
                    with self.assertRaisesRegex(kimesh.ConfigError, "behind the block"):
                        mesh.step(start(name))
                mesh.step({"x": gradient(name, mesh.parameters["x"])})
            return mesh.outcome, len(asked)

        ends = self.run_nodes("ab", node)
        for name in "ab":
            self.assertEqual(ends[name][0], "done")
            self.assertGreater(ends[name][1], 20)

    def test_make_a_folder_whose_name_ends_with_a_slash(self) -> None:
        config, topology = self.config(stop="{rounds: 3}"), self.ring("ab")
        wanted = f"{self.folder}/shared/"
        ends = self.run_nodes("ab", lambda n: self.descend(
            self.mesh(start(n), n, config, topology, folder=wanted), start(n)))
        self.assertIsInstance(ends["a"], dict)
        self.assertTrue((self.folder / "shared" / "nodes" / "b.jsonl").exists())

    def test_take_an_empty_folder_and_write_over_nothing(self) -> None:
        config, topology = self.config(stop="{rounds: 3}"), self.ring("ab")
        folder = self.folder / "mine"
        folder.mkdir()
        (folder / "config.yaml").write_text("mine")
        with self.assertRaisesRegex(kimesh.ConfigError, "is there already and is not written over"):
            self.mesh(start("a"), "a", config, topology, folder=folder)
        self.assertEqual((folder / "config.yaml").read_text(), "mine")
        (folder / "config.yaml").unlink()
        ends = self.run_nodes("ab", lambda n: self.descend(
            self.mesh(start(n), n, config, topology, folder=folder), start(n)))
        self.assertIsInstance(ends["a"], dict)
        self.assertTrue((folder / "run.json").exists())

    def test_without_a_loss_are_recorded_with_none(self) -> None:
        config, topology = self.config(stop="{rounds: 3}"), self.ring("ab")

        def node(name: str) -> Any:
            mesh = self.mesh(start(name), name, config, topology)
            trained = None  # the round behind the last one has no gradient, and so no loss
            while mesh.running:
                trained = mesh.last_round or trained
                grads = {"x": gradient(name, mesh.parameters["x"])}
                mesh.step(grads, loss=2.5) if name == "a" else mesh.step(grads)
            return mesh.outcome, trained["loss"], trained["own_loss"]

        self.assertEqual(self.run_nodes("ab", node),
                         {"a": ("done", None, 2.5), "b": ("done", None, None)})

    def test_with_a_loss_that_is_not_finite_end_the_run(self) -> None:
        config = self.config()
        for loss in (float("nan"), float("inf")):
            topology = self.ring("ab")

            def node(name: str) -> None:
                mesh = self.mesh(start(name), name, config, topology, folder=self.folder / f"{loss}")
                while mesh.running:
                    mesh.step({"x": gradient(name, mesh.parameters["x"])}, loss=loss)

            for end in self.run_nodes("ab", node).values():
                self.assertIsInstance(end, kimesh.MeshError)
                self.assertIn("the loss is NaN or infinity", str(end))


class Ends(MeshTest):
    def test_an_exception_of_a_loop_ends_the_run_by_its_name(self) -> None:
        config, topology = self.config(), self.ring("ab")

        def node(name: str) -> None:
            with self.mesh(start(name), name, config, topology) as mesh:
                while mesh.running:
                    if name == "b" and mesh.round == 3:
                        raise OSError("no more data")
                    mesh.step(start(name))

        ends = self.run_nodes("ab", node)
        self.assertIsInstance(ends["b"], OSError)
        self.assertIsInstance(ends["a"], kimesh.MeshError)
        self.assertIn("node b, round 3: the program's loop ended: OSError: no more data",
                      str(ends["a"]))

    def test_an_exception_of_a_callback_ends_the_run(self) -> None:
        config = self.config(stop="{rounds: 1000}",
                             more="evaluate_every: 5\ncheckpoint: {every_rounds: 7}")
        for callback in ("evaluate", "state"):
            topology = self.ring("ab")

            def fail(*_: Any) -> Any:
                raise OSError(f"no {callback}")

            def node(name: str) -> None:
                right = {"evaluate": lambda: (0, 1, 0.0), "state": (lambda: b"", fail)}
                mesh = self.mesh(start(name), name, config, topology,
                                 folder=self.folder / callback, **(right | (
                                     {} if name == "a" else
                                     {callback: fail if callback == "evaluate" else (fail, fail)})))
                while mesh.running:
                    mesh.step(start(name))

            ends = self.run_nodes("ab", node)
            self.assertIsInstance(ends["b"], OSError)
            self.assertIn(f"OSError: no {callback}", str(ends["a"]))

    def test_other_names_are_refused_by_a_sentence(self) -> None:
        config, topology = self.config(), self.ring("ab", start_timeout="2s")

        def node(name: str) -> None:
            mesh = self.mesh({"head" if name == "b" else "x": np.zeros(9, np.float32)}, name,
                             config, topology)
            self.assertTrue(mesh.running)

        ends = self.run_nodes("ab", node)
        for end in ends.values():
            self.assertIsInstance(end, kimesh.MeshError)
            self.assertIn("the initial parameters differ", str(end))
            self.assertIn("the same names, order, shapes", str(end))

    def test_ctrl_c_ends_the_loop_of_every_node_in_order(self) -> None:
        config, topology = self.config(stop="{rounds: 1000000}"), self.ring("ab")
        program = (
            "import sys, numpy, kimesh\n"
            "x = {'x': numpy.ones(9, numpy.float32)}\n"
            "mesh = kimesh.Mesh(x, config=sys.argv[1], topology=sys.argv[2], name=sys.argv[3],\n"
            "                   folder=sys.argv[4])\n"
            "while mesh.running:\n"
            "    mesh.step(x)\n"
            "    if mesh.round == 5: print('five', flush=True)\n"
            "print(mesh.outcome, mesh.text)\n")
        nodes = [subprocess.Popen([sys.executable, "-c", program, config, topology, name,
                                   self.folder / "run"], stdout=subprocess.PIPE, text=True)
                 for name in "ab"]
        assert nodes[0].stdout is not None
        self.assertEqual(nodes[0].stdout.readline(), "five\n")
        nodes[0].send_signal(signal.SIGINT)
        for node in nodes:
            self.assertIn("stopped stopped by the user at node a", node.communicate(timeout=60)[0])
            self.assertEqual(node.returncode, 0)
        self.assertTrue((self.folder / "run" / "nodes" / "b.safetensors").exists())


class Sentences(MeshTest):
    def assert_refused(self, sentence: str, parameters: Any, **more: Any) -> None:
        if "config" not in more:
            more["config"] = self.config()
        arguments = {"topology": self.ring("ab"), "name": "a"} | more
        with self.assertRaisesRegex(kimesh.ConfigError, sentence):
            self.mesh(parameters, arguments.pop("name"), **arguments)

    def test_say_what_is_wrong_before_the_start(self) -> None:
        x = {"x": np.zeros(9, np.float32)}
        self.assert_refused("'x' is float64, and kimesh trains float32", {"x": np.zeros(9)})
        self.assert_refused("'x' is not contiguous", {"x": np.zeros((9, 9), np.float32)[:, :2]})
        self.assert_refused("there are no parameters", {})
        self.assert_refused("two parameters have the name 'x'", [("x", x["x"]), ("x", x["x"])])
        self.assert_refused("the topology has no node 'z'", x, name="z")
        self.assert_refused(r"config.yaml:2: optimizer", x,
                            config=self.config(optimizer="{kind: sgd, lr: -1}"))
        self.assert_refused("Write objective: own", x,
                            config=self.config(objective="quadratic: {dimension: 9}"))
        self.assert_refused("accuracy and loss are of a test set", x,
                            config=self.config(stop="{accuracy: 0.9}"))

    def test_say_what_is_wrong_with_a_gradient(self) -> None:
        config, topology = self.config(stop="{rounds: 2}"), self.ring("ab")

        def node(name: str) -> None:
            x = {"x": np.zeros(9, np.float32)}
            with self.mesh(x, name, config, topology) as mesh:
                for sentence, wrong in {
                        "the gradients have no 'x'": {"y": x["x"]},
                        "is float64": {"x": np.zeros(9)},
                        r"has shape \[3\], and the parameter \[9\]": {"x": x["x"][:3]},
                        "arrays hold no gradient": None}.items():
                    with self.assertRaisesRegex(kimesh.ConfigError, sentence):
                        mesh.step(wrong)
                while mesh.running:
                    mesh.step(x)

        self.assertEqual(self.run_nodes("ab", node), {"a": None, "b": None})

    def test_say_what_is_wrong_with_labels(self) -> None:
        config, topology = self.config(stop="{rounds: 2}"), self.ring("ab")

        def node(name: str) -> None:
            x = {"x": np.zeros(9, np.float32)}
            with self.mesh(x, name, config, topology) as mesh:
                with self.assertRaisesRegex(kimesh.ConfigError, "no samples were dealt out"):
                    mesh._node.indices(4)
                for sentence, wrong in {"labels are None": None,
                                        "fewer samples than nodes": [0],
                                        "classes from 0 to 65535": [0, -1]}.items():
                    for indices in (lambda: mesh.indices(wrong, 4),
                                    lambda: mesh.test_indices(wrong)):
                        with self.assertRaisesRegex(kimesh.ConfigError, sentence):
                            indices()
                while mesh.running:
                    mesh.step(x)

        self.assertEqual(self.run_nodes("ab", node), {"a": None, "b": None})

    def test_nothing_is_left_of_a_mesh_that_was_never_started(self) -> None:
        mesh = self.mesh(start("a"), "a", self.config(), self.ring("ab"))
        window = mesh._vector
        del mesh
        self.assertEqual(window[:2].tolist(), [0, 0])  # the memory lives as long as its windows


class Examples(MeshTest):
    def test_four_processes_train_together(self) -> None:
        config = self.config(stop="{rounds: 20}", more="evaluate_every: 10")
        done = subprocess.run([sys.executable, EXAMPLES / "four_processes.py", config,
                               self.folder / "run"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("is done: accuracy 0.9"), 4, done.stdout)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
