"""One rank of PyTorch's side: `python3 peer.py JOB.json RANK`. Rank 0 writes what happened.

A job trains until its target (`kind: path`), or only takes the time of steps (`kind: pace`). The
clock stands still while the ranks evaluate and while they agree whether to go on.
"""
import json
import math
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import curve
import models
from ways import WAYS

TIMEOUT = timedelta(minutes=20)  # of one exchange: a dense one takes 26 s at 1 Mbit/s


class Rank:
    def __init__(self, job, rank):
        self.job, self.rank = job, rank
        inputs = models.Inputs(job["inputs"])
        self.batches = inputs.batches[rank]
        self.train, test = inputs.samples("train"), inputs.samples("test")
        self.test = tuple(part[rank::job["ranks"]] for part in test)
        self.model = inputs.model(job["model"])
        self.way = WAYS[job["way"]](self.model, job["optimizer"])
        self.times, self.points, self.losses = [], [], []

    def step(self):
        chosen = torch.from_numpy(self.batches[len(self.times)].astype("int64"))
        begun = time.perf_counter()
        loss = self.way.step(tuple(part[chosen] for part in self.train))
        self.times.append(time.perf_counter() - begun)
        if len(self.losses) < 3:
            self.losses.append(loss)
        return loss

    def evaluate(self):
        begun = time.perf_counter()
        dist.barrier()  # a rank that is late is counted, not given
        self.times[-1] += time.perf_counter() - begun
        counts = torch.tensor(models.hits(self.model, *self.test), dtype=torch.float64)
        dist.all_reduce(counts)
        self.points.append((len(self.times), sum(self.times), (counts[0] / counts[1]).item()))

    def agree(self, stop):
        """Rank 0's word."""
        word = torch.tensor([1.0 if stop else 0.0])
        dist.broadcast(word, 0)
        return word.item() > 0

    def path(self):
        """Steps until the target. Steps until the target, or until a limit ends them."""
        job, every, evaluated = self.job, self.job["evaluate_every"], 0
        while len(self.times) < job["steps_max"]:
            loss = self.step()
            if len(self.times) % self.way.period or len(self.times) - evaluated < every:
                continue
            evaluated = len(self.times)
            self.evaluate()
            done = curve.reached(self.points, job["target"], job["smoothing"]) is not None
            if self.agree(done or sum(self.times) > job["seconds_max"] or not math.isfinite(loss)):
                return

    def pace(self):
        """At least `steps` steps and `seconds_min`; fewer only where that takes `seconds_max`."""
        job, period = self.job, self.way.period
        least = -(-job["warm"] // period) * period + 2 * period
        while True:
            for _ in range(period):
                self.step()
            count, seconds = len(self.times), sum(self.times)
            enough = count >= job["steps"] and seconds >= job["seconds_min"]
            full = count + period > len(self.batches)
            if self.agree(full or (count >= least and (enough or seconds > job["seconds_max"]))):
                return

    def report(self):
        losses = torch.tensor(self.losses, dtype=torch.float64)
        dist.all_reduce(losses)
        return {"times": self.times, "points": self.points, "period": self.way.period,
                "losses": (losses / self.job["ranks"]).tolist()}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    rank = int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(job["seed"])  # of PowerSGD's first factors
    os.environ.update(MASTER_ADDR=job["address"], MASTER_PORT="29400", GLOO_SOCKET_IFNAME="eth0")
    dist.init_process_group("gloo", rank=rank, world_size=job["ranks"], timeout=TIMEOUT)
    node = Rank(job, rank)
    dist.barrier()
    node.path() if job["kind"] == "path" else node.pace()
    report = node.report()
    if rank == 0:
        with open(job["report"] + ".part", "w", encoding="utf-8") as file:
            json.dump(report, file)
        os.replace(job["report"] + ".part", job["report"])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
