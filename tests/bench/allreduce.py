"""A dense all-reduce of four processes over loopback, by kimesh and by Gloo.

    PYTHONPATH=build/peers build/python/bin/python tests/bench/allreduce.py [PARAMETERS]

Both sum so many floats (25,000,000: 100 MB) of four processes of this machine, a ring each; medians
of ten, with one thread a process. Of kimesh a whole round is timed without its gradient, with
shards, steps of sgd, records and all: what training gets. Of Gloo it is torch.distributed's
all_reduce, until the last process has it. The loops compute nothing.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PROCESSES, ROUNDS, WARM_UP = 4, 12, 2
NAMES = "abcd"
CONFIG = f"""objective: own
optimizer: {{kind: sgd, lr: 0.1}}
compression: {{policy: none}}
stop: {{rounds: {ROUNDS + 1}}}
checkpoint: {{keep: 0}}
threads: 1
"""
TOPOLOGY = "kind: ring\nnodes:\n" + "".join(
    f'  {name}: {{address: "tcp://127.0.0.1:{7395 + i}"}}\n' for i, name in enumerate(NAMES))


def kimesh_node(name: str, folder: str, size: int) -> None:
    import kimesh

    gradients = {"x": np.ones(size, np.float32)}
    mesh = kimesh.Mesh({"x": np.zeros(size, np.float32)}, config=f"{folder}/config.yaml",
                       topology=f"{folder}/ring.yaml", name=name, folder=f"{folder}/run")
    while mesh.running:
        mesh.step(gradients)


def gloo_rank(rank: int, folder: str, size: int) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/gloo", rank=rank,
                            world_size=PROCESSES)
    values = torch.ones(size)
    seconds = []
    for _ in range(ROUNDS):
        dist.barrier()
        begun = time.perf_counter()
        dist.all_reduce(values)
        seconds.append(time.perf_counter() - begun)
    Path(folder, f"{rank}.json").write_text(json.dumps(seconds))
    dist.destroy_process_group()


def run(work, arguments: list[tuple]) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=work, args=own) for own in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode != 0:
            sys.exit("a process failed; its words are above")


def time_kimesh(folder: str, size: int) -> list[float]:
    Path(folder, "config.yaml").write_text(CONFIG)
    Path(folder, "ring.yaml").write_text(TOPOLOGY)
    run(kimesh_node, [(name, folder, size) for name in NAMES])
    # Of a round the longest of all nodes, without the longest of their gradients.
    rounds: dict[int, list[dict]] = {}
    for name in NAMES:
        for line in Path(folder, "run", "nodes", f"{name}.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["event"] == "round":
                rounds.setdefault(record["round"], []).append(record)
    return [max(r["round_s"] for r in rounds[i]) - max(r["compute_s"] for r in rounds[i])
            for i in range(WARM_UP, ROUNDS)]


def time_gloo(folder: str, size: int) -> list[float]:
    run(gloo_rank, [(rank, folder, size) for rank in range(PROCESSES)])
    ranks = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(PROCESSES)]
    return [max(rank[i] for rank in ranks) for i in range(WARM_UP, ROUNDS)]


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 25_000_000
    medians = {}
    for name, measure in (("kimesh", time_kimesh), ("Gloo", time_gloo)):
        with tempfile.TemporaryDirectory() as folder:
            seconds = measure(folder, size)
        medians[name] = statistics.median(seconds)
        print(f"{name}: {1e3 * medians[name]:.0f} ms, from {1e3 * min(seconds):.0f} to "
              f"{1e3 * max(seconds):.0f}")
    print(f"Gloo's time over kimesh's: {medians['Gloo'] / medians['kimesh']:.2f}")


if __name__ == "__main__":
    main()
