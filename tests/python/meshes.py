"""Meshes for the tests of the package: a thread for each node, sockets on loopback."""

from __future__ import annotations

import concurrent.futures
import contextlib
import socket
import tempfile
import unittest
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import kimesh

LIMIT_S = 120  # of a mesh that hangs


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class MeshTest(unittest.TestCase):
    """Has a folder of its own, with the files that a test writes into it."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def config(self, *, objective: str = "objective: own", compression: str = "{policy: none}",
               optimizer: str = "{kind: sgd, lr: 0.1, momentum: 0.9}", stop: str = "{rounds: 20}",
               more: str = "") -> Path:
        return self._write("config.yaml", f"{objective}\noptimizer: {optimizer}\n"
                           f"compression: {compression}\nstop: {stop}\n{more}\n")

    def ring(self, names: str, start_timeout: str = "60s") -> Path:
        nodes = "".join(f'  {name}: {{address: "tcp://127.0.0.1:{port}"}}\n'
                        for name, port in zip(names, free_ports(len(names))))
        return self._write("ring.yaml", f"kind: ring\nstart_timeout: {start_timeout}\nnodes:\n{nodes}")

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def run_nodes(self, names: str, node: Callable[[str], Any]) -> dict[str, Any]:
        """What `node` gives for each name, or the exception that it raises."""
        with concurrent.futures.ThreadPoolExecutor(len(names)) as threads:
            futures = {name: threads.submit(node, name) for name in names}
            return {name: future.exception(LIMIT_S) or future.result()
                    for name, future in futures.items()}

    def mesh(self, parameters: Any, name: str, config: Path, topology: Path,
             **more: Any) -> kimesh.Mesh:
        if "resume" not in more:
            more.setdefault("folder", self.folder / "run")
        more.setdefault("on_notice", lambda sentence: None)
        return kimesh.Mesh(parameters, config=config, topology=topology, name=name, **more)

    def assert_equal_bits(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
        self.assertEqual(list(one), list(other))
        for name in one:
            self.assertEqual(one[name].tobytes(), other[name].tobytes(), name)
