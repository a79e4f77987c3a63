"""What a stored result depends on: where any of it has changed, the result is measured again."""
import argparse
import os
import tempfile
import unittest
from unittest import mock

import bench
import sides
import tasks

CONFIG = {"model": {"kind": "cnn"}, "optimizer": {"kind": "sgd", "lr": 0.1},
          "stop": {"rounds": 9, "accuracy": 0.5}, "evaluate_every": 3,
          "data": {"kind": "cifar10", "path": "there", "batch": 32}}
KIMESH = next(side for side in sides.kimesh_sides(False) if side.name == sides.DENSE)
PEER = next(side for side in sides.PEERS if side.name == sides.DDP)


def key(side, source="", torch="1", machine="one", samples="some"):
    """The key of a result of `side`; `source`: the name of a file that has changed."""
    def digest(path):
        return "changed" if os.path.basename(path) == source else "unchanged"
    with (tempfile.TemporaryDirectory() as build,
          mock.patch.object(bench, "BUILD", build),
          mock.patch.object(bench.store, "digest_of_file", digest),
          mock.patch.object(bench.machine, "name", lambda: machine),
          mock.patch.object(bench.importlib.metadata, "version", lambda package: torch)):
        task = tasks.Task("a task", CONFIG, build, samples)
        return bench.Bench(argparse.Namespace(topology="ring")).key(task, side, seed=1)


class Key(unittest.TestCase):
    def test_is_the_same_where_nothing_has_changed(self):
        for side in (KIMESH, PEER):
            self.assertEqual(key(side), key(side))

    def test_of_every_side_tells_who_measured_and_what(self):
        for side in (KIMESH, PEER):
            self.assertNotEqual(key(side), key(side, machine="another"))
            self.assertNotEqual(key(side), key(side, samples="others"))
            for source in ("curve.py", "network.py", "runs.py", "tasks.py"):
                self.assertNotEqual(key(side), key(side, source), source)

    def test_of_a_peer_tells_its_scripts_and_pytorch(self):
        for source in ("inputs.cpp", "models.py", "peer.py", "ways.py"):
            self.assertNotEqual(key(PEER), key(PEER, source), source)
            self.assertEqual(key(KIMESH), key(KIMESH, source), source)
        self.assertNotEqual(key(PEER), key(PEER, torch="2"))
        self.assertEqual(key(KIMESH), key(KIMESH, torch="2"))

    def test_of_kimesh_tells_its_program(self):
        self.assertNotEqual(key(KIMESH), key(KIMESH, "kimesh"))
        self.assertEqual(key(PEER), key(PEER, "kimesh"))

    def test_names_sources_that_are_there(self):
        for source in bench.MEASURING + bench.PEERS_OWN:
            self.assertTrue(os.path.isfile(os.path.join(bench.HERE, source)), source)


if __name__ == "__main__":
    unittest.main()
