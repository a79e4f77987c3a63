#!/usr/bin/env python3
"""What checkpoints cost, and how soon a mesh that was killed trains again.

    ./dev bench checkpoint [--nodes 2,4] [--rounds 320] [--every 100] [--runs 3]

Rings on this machine train an mlp of 10.1 million parameters. A pause is the time from the end of
the round that a checkpoint is taken at to the beginning of the next round. The extra time of a
checkpoint is what its round and the six behind it, beside which it is written, take with their
pauses over the median of the other rounds. Then a ring of four is killed and goes on with `--resume`.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

CONFIG = """model: {{kind: mlp, hidden: [2300, 2300, 2000]}}
data: {{kind: digits, batch: 32, split: even}}
optimizer: {{kind: sgd, lr: 0.02, momentum: 0.9}}
compression: {{policy: fixed, compressor: topk, ratio: 0.01, feedback: ef21}}
stop: {{rounds: {rounds}}}
evaluate_every: 1000000
checkpoint: {{every_rounds: {every}, keep: 2}}
"""
SMALL = """model: {kind: mlp, hidden: [64]}
data: {kind: digits, batch: 64, split: even}
optimizer: {kind: sgd, lr: 0.1, momentum: 0.85}
compression: {policy: kimad, compressor: topk}
round_time: 25ms
stop: {rounds: 1000000}
checkpoint: {every_rounds: 20, keep: 2}
"""
PORT = 7461
BESIDE = 6  # rounds behind a checkpoint's that its writing may slow
PATIENCE_S = 120
NODES_KILLED = 4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--nodes", default="2,4", help="sizes of the rings (%(default)s)")
    parser.add_argument("--rounds", type=int, default=320, help="of a run (%(default)s)")
    parser.add_argument("--every", type=int, default=100,
                        help="rounds between checkpoints (%(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of each kind (%(default)s)")
    args = parser.parse_args()
    args.program = pathlib.Path(args.program).resolve()
    return args


def write_ring(path, nodes):
    lines = [f"  n{i}: {{address: \"tcp://127.0.0.1:{PORT + i}\"}}" for i in range(nodes)]
    path.write_text("kind: ring\nnodes:\n" + "\n".join(lines) + "\n")


def records_of_nodes(run_folder):
    return sorted(p for p in run_folder.glob("nodes/*.jsonl") if not p.match("*.decisions.jsonl"))


def records(path):
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # the last line of a node that was killed
            return


def costs_of(path):
    """The pause and the extra time of each checkpoint of a node, and the node's usual time of a
    round: seconds."""
    rounds = [r for r in records(path) if r["event"] == "round" and not r["poll"]]
    whole = [after["time_s"] - before["time_s"] for before, after in itertools.pairwise(rounds)]
    at = [i for i, r in enumerate(rounds[:-1]) if r.get("checkpoint")]
    beside = {i + k for i in at for k in range(BESIDE + 1)}
    usual = statistics.median(w for i, w in enumerate(whole) if i not in beside)
    costs = []
    for i in at:
        begun = rounds[i + 1]["time_s"] - rounds[i + 1]["round_s"]
        near = whole[i:i + BESIDE + 1]
        costs.append((begun - rounds[i]["time_s"], sum(near) - usual * len(near)))
    return costs, usual


def bytes_of_listed_state(run_folder, nodes):
    """The floats that a node of a ring has to keep under ef21 and SGD with momentum, by
    docs/architecture.md: w, the velocity, x of its own shard, the estimates of its messages of the
    reduce (it sends all shards but one, and receives all but one), and those of the gathers that it
    forwards. Of the other gathers w is the estimate."""
    with open(run_folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    parameters = sum(math.prod(tensor["shape"]) for name, tensor in header.items()
                     if name != "__metadata__")
    copies = 1 + 1 + 1 / nodes + 2 * (nodes - 1) / nodes + (nodes - 2) / nodes
    return 4 * parameters * copies


def measure(args, nodes):
    pauses, extra, usual, sizes, ratios = [], [], [], [], []
    for run in range(args.runs):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "config.yaml").write_text(
                CONFIG.format(rounds=args.rounds, every=args.every))
            write_ring(folder / "ring.yaml", nodes)
            subprocess.run([args.program, "up", "--config", "config.yaml", "--topology",
                            "ring.yaml", "--run", "run"], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            run_folder = folder / "runs/run"
            for node in records_of_nodes(run_folder):
                costs, round_s = costs_of(node)
                pauses.append([pause for pause, _ in costs])
                extra += [seconds for _, seconds in costs]
                usual.append(round_s)
            listed = bytes_of_listed_state(run_folder, nodes)
            for state in run_folder.glob("checkpoints/*"):
                sizes.append(max(f.stat().st_size for f in state.rglob("*") if f.is_file()))
                ratios.append(sizes[-1] / listed)
        tell(f"{nodes} nodes, run {run + 1}: first pauses, ms",
             [p[0] * 1e3 for p in pauses[-nodes:]])
        tell(f"{nodes} nodes, run {run + 1}: later pauses, ms",
             [p * 1e3 for node in pauses[-nodes:] for p in node[1:]])
    tell(f"{nodes} nodes: first pauses, ms", [p[0] * 1e3 for p in pauses])
    tell(f"{nodes} nodes: later pauses, ms", [p * 1e3 for node in pauses for p in node[1:]])
    tell(f"{nodes} nodes: a round, ms", [s * 1e3 for s in usual])
    round_s = statistics.median(usual)
    tell(f"{nodes} nodes: extra time of a checkpoint, % of {args.every} rounds",
         [100 * seconds / (args.every * round_s) for seconds in extra])
    tell(f"{nodes} nodes: a checkpoint of a node, MB", [size / 1e6 for size in sizes])
    tell(f"{nodes} nodes: the same over the bytes of the state that it lists", ratios, digits=6)


def tell(what, values, digits=1):
    values = sorted(values)
    print(f"{what}: median {statistics.median(values):.{digits}f}, {values[0]:.{digits}f} to "
          f"{values[-1]:.{digits}f}, of {len(values)}", flush=True)


def last_round(run_folder):
    """How often the node has been started that was started least, and the last round that it has
    recorded since; None: a node has recorded none yet."""
    told = []
    for node in records_of_nodes(run_folder):
        events = list(records(node))
        starts = [i for i, r in enumerate(events) if r["event"] == "start"]
        rounds = [r["round"] for r in events[starts[-1]:] if r["event"] == "round"] if starts else []
        if not rounds:
            return None
        told.append((len(starts), rounds[-1]))
    return min(told) if len(told) == NODES_KILLED else None


def wait_until(what, happened):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if happened():
            return
        time.sleep(0.005)
    raise SystemExit(f"{what}: not within {PATIENCE_S} s")


def measure_restart(args):
    times = []
    for _ in range(args.runs):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "config.yaml").write_text(SMALL)
            write_ring(folder / "ring.yaml", NODES_KILLED)
            begin = [args.program, "up", "--config", "config.yaml", "--topology", "ring.yaml",
                     "--run", "run"]
            go_on = [args.program, "up", "--resume", "runs/run"]

            def start(words):
                return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)

            def trained(starts, rounds):
                told = last_round(folder / "runs/run")
                return told is not None and told[0] >= starts and told[1] >= rounds

            process = start(begin)
            try:
                wait_until("the first checkpoints", lambda: trained(1, 50))
                os.killpg(process.pid, signal.SIGKILL)
                killed = time.monotonic()
                process.wait()
                process = start(go_on)
                wait_until("a round after the kill", lambda: trained(2, 0))
                times.append(time.monotonic() - killed)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait()
    tell("ring4, from kill -9 of all to a trained round of all with --resume, s", times)


def main():
    args = arguments()
    for nodes in map(int, args.nodes.split(",")):
        measure(args, nodes)
    measure_restart(args)


if __name__ == "__main__":
    main()
