"""A dense all-reduce of four processes of this machine, by kimesh and by Gloo.

    PYTHONPATH=build/peers build/python/bin/python tests/bench/allreduce.py
        [--floats N] [--rounds N] [--mbit RATE] [--only kimesh|Gloo]

Both sum so many floats (25,000,000: 100 MB) of four processes, a ring each, in PyTorch's tensors
where they lie; medians of ten rounds, with one thread a process. Of kimesh a whole round is timed
without its gradient, with shards, steps of sgd, records and all: what training gets. Of Gloo it is
torch.distributed's all_reduce, until the last process has it. The loops compute nothing. CPU
seconds are those of all processes, a round; kimesh's hold what stands for the gradient, which is
filled, looked through and zeroed.

Without --mbit the processes meet over loopback; with it, as root, each has a network namespace with
a cable of that rate (tc tbf, mesh/network.py).
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mesh.network import MEGABIT, Network, Shape

PROCESSES, WARM_UP = 4, 2
NAMES = "abcd"
CLONE_NEWNET = 0x40000000
CONFIG = """objective: own
optimizer: {{kind: sgd, lr: 0.1}}
compression: {{policy: none}}
stop: {{rounds: {rounds}}}
checkpoint: {{keep: 0}}
threads: 1
"""


@dataclass
class Job:
    folder: str
    floats: int
    rounds: int  # those of the warm-up included
    holders: list[int]  # of the processes' network namespaces; empty: loopback

    def addresses(self) -> list[str]:
        if not self.holders:
            return [f"127.0.0.1:{7395 + i}" for i in range(PROCESSES)]
        return [f"10.88.0.{i + 1}:7395" for i in range(PROCESSES)]

    def enter_network(self, rank: int) -> None:
        if not self.holders:
            return
        with open(f"/proc/{self.holders[rank]}/ns/net", "rb") as namespace:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                sys.exit(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0"


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def kimesh_node(rank: int, job: Job) -> None:
    job.enter_network(rank)
    import kimesh
    import torch

    torch.set_num_threads(1)
    values = torch.zeros(job.floats, requires_grad=True)
    mesh = kimesh.Mesh({"x": values}, config=f"{job.folder}/config.yaml",
                       topology=f"{job.folder}/ring.yaml", name=NAMES[rank],
                       folder=f"{job.folder}/run")
    cpu = []
    while mesh.running:
        cpu.append(cpu_seconds())
        values.grad.fill_(1)  # where the node reads it
        mesh.step(loss=0.0)
    # The last rounds are the closing round and what confirms it.
    per_round = (cpu[job.rounds - 1] - cpu[WARM_UP]) / (job.rounds - 1 - WARM_UP)
    Path(job.folder, f"{rank}.json").write_text(json.dumps({"cpu": per_round}))


def gloo_rank(rank: int, job: Job) -> None:
    job.enter_network(rank)
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{job.folder}/gloo", rank=rank,
                            world_size=PROCESSES)
    values = torch.ones(job.floats)
    seconds, cpu = [], 0.0
    for i in range(job.rounds):
        dist.barrier()
        if i == WARM_UP:
            cpu = cpu_seconds()
        begun = time.perf_counter()
        dist.all_reduce(values)
        seconds.append(time.perf_counter() - begun)
    cpu = (cpu_seconds() - cpu) / (job.rounds - WARM_UP)
    Path(job.folder, f"{rank}.json").write_text(json.dumps({"seconds": seconds, "cpu": cpu}))
    dist.destroy_process_group()


def run(work, job: Job) -> list[dict]:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=work, args=(rank, job)) for rank in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode != 0:
            sys.exit("a process failed; its words are above")
    return [json.loads(Path(job.folder, f"{rank}.json").read_text()) for rank in range(PROCESSES)]


def time_kimesh(job: Job) -> tuple[list[float], float]:
    Path(job.folder, "config.yaml").write_text(CONFIG.format(rounds=job.rounds + 1))
    Path(job.folder, "ring.yaml").write_text(
        "kind: ring\nsecurity: none\nnodes:\n" + "".join(
            f'  {name}: {{address: "tcp://{address}"}}\n'
            for name, address in zip(NAMES, job.addresses())))
    ends = run(kimesh_node, job)
    # Of a round the longest of all nodes, without the longest of their gradients.
    rounds: dict[int, list[dict]] = {}
    for name in NAMES:
        for line in Path(job.folder, "run", "nodes", f"{name}.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["event"] == "round":
                rounds.setdefault(record["round"], []).append(record)
    return ([max(r["round_s"] for r in rounds[i]) - max(r["compute_s"] for r in rounds[i])
             for i in range(WARM_UP, job.rounds)], sum(end["cpu"] for end in ends))


def time_gloo(job: Job) -> tuple[list[float], float]:
    ends = run(gloo_rank, job)
    return ([max(end["seconds"][i] for end in ends) for i in range(WARM_UP, job.rounds)],
            sum(end["cpu"] for end in ends))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--floats", type=int, default=25_000_000)
    words.add_argument("--rounds", type=int, default=10)
    words.add_argument("--mbit", type=float)
    words.add_argument("--only", choices=["kimesh", "Gloo"])
    asked = words.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    medians = {}
    with contextlib.ExitStack() as stack:
        holders = []
        if asked.mbit:
            shape = Shape("cables", lambda node, seconds: asked.mbit * MEGABIT)
            network = stack.enter_context(Network(PROCESSES, shape))
            holders = [node.holder.pid for node in network.nodes]
        for name, measure in (("kimesh", time_kimesh), ("Gloo", time_gloo)):
            if asked.only not in (None, name):
                continue
            with tempfile.TemporaryDirectory() as folder:
                seconds, cpu = measure(Job(folder, asked.floats, asked.rounds + WARM_UP, holders))
            medians[name] = statistics.median(seconds)
            print(f"{name}: {1e3 * medians[name]:.0f} ms, from {1e3 * min(seconds):.0f} to "
                  f"{1e3 * max(seconds):.0f}; {1e3 * cpu:.0f} ms of CPU", flush=True)
    if len(medians) == 2:
        print(f"Gloo's time over kimesh's: {medians['Gloo'] / medians['kimesh']:.2f}")


if __name__ == "__main__":
    main()
