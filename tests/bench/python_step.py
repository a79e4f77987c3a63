"""What a step of the package for Python costs beside the node's own work.

    build/python/bin/python tests/bench/python_step.py [PARAMETERS]

Two processes train so many parameters (1,000,000); the loop computes nothing. The cost of a step is
the time from the node's wish for a gradient to the gradient, which the run's records tell, without
the time that the loop had for itself. PyTorch is measured where it can be imported.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import kimesh

ROUNDS, WARM_UP = 200, 20
CONFIG = f"""objective: own
optimizer: {{kind: sgd, lr: 0.1}}
compression: {{policy: fixed, compressor: topk, ratio: 0.01}}
stop: {{rounds: {ROUNDS}}}
checkpoint: {{keep: 0}}
"""
TOPOLOGY = """kind: ring
nodes:
  a: {address: "tcp://127.0.0.1:7391"}
  b: {address: "tcp://127.0.0.1:7392"}
"""


def train(name: str, folder: str, size: int, kind: str, costs: multiprocessing.Queue) -> None:
    if kind == "PyTorch":
        import torch
        given = [("x", torch.nn.Parameter(torch.zeros(size)))]
        gradients = None
    else:
        given = {"x": np.zeros(size, np.float32)}
        gradients = {"x": np.ones(size, np.float32)}
    own: list[float] = []
    wished: list[float] = []

    def note(record: dict) -> None:
        if not record["poll"]:
            wished.append(record["compute_s"])

    mesh = kimesh.Mesh(given, config=f"{folder}/config.yaml", topology=f"{folder}/ring.yaml",
                       name=name, folder=f"{folder}/{kind}", on_round=note)
    while mesh.running:
        begun = time.perf_counter()
        own.append(time.perf_counter() - begun)
        mesh.step(gradients)
    if name == "a":
        costs.put([w - o for w, o in zip(wished, own)][WARM_UP:])


def measure(kind: str, size: int) -> list[float]:
    spawn = multiprocessing.get_context("spawn")
    costs = spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.yaml").write_text(CONFIG)
        Path(folder, "ring.yaml").write_text(TOPOLOGY)
        nodes = [spawn.Process(target=train, args=(name, folder, size, kind, costs))
                 for name in "ab"]
        for node in nodes:
            node.start()
        result = costs.get(timeout=300)
        for node in nodes:
            node.join()
    return result


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for kind in ("NumPy", "PyTorch"):
        if kind == "PyTorch":
            try:
                import torch  # noqa: F401
            except ImportError:
                print("PyTorch: not there")
                continue
        costs = measure(kind, size)
        ends = statistics.quantiles(costs, n=20)
        print(f"{kind}: {1e3 * statistics.median(costs):.2f} ms of a step at {size} parameters, "
              f"p5 {1e3 * ends[0]:.2f}, p95 {1e3 * ends[-1]:.2f}")


if __name__ == "__main__":
    main()
