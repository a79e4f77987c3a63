"""One run of one side on one network: it is started, watched and ended here."""
import json
import os
import shutil
import subprocess
import sys
import time

import curve
import network
import tasks

HERE = os.path.dirname(os.path.abspath(__file__))
WATCH_SECONDS = 0.5       # between two looks at a run's files
SILENCE_SECONDS_MAX = 900  # without a word from a run, which then counts as failed
PORT = 7100


class RunError(Exception):
    """A run failed; the text says where its last words are."""


class UnlikeError(Exception):
    """The sides do not train the same thing."""


class Processes:
    """The nodes of one run, which end with this block."""

    def __init__(self, net, commands, folder, environment=None):
        self.folder, self.children = folder, []
        for i, words in enumerate(commands):
            with open(os.path.join(folder, f"{i}.log"), "w", encoding="utf-8") as log:
                self.children.append(subprocess.Popen(
                    net.command(i, words), stdout=log, stderr=subprocess.STDOUT, env=environment))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()

    def running(self):
        """False: all ended well. A failure of one is an error."""
        codes = [child.poll() for child in self.children]
        for i, code in enumerate(codes):
            if code:
                with open(os.path.join(self.folder, f"{i}.log"), encoding="utf-8") as log:
                    last = log.read().strip().splitlines()[-3:]
                raise RunError(f"node {i} failed, see {self.folder}/{i}.log: " + " / ".join(last))
        return any(code is None for code in codes)


class Records:
    """What node a of a kimesh run has written so far."""

    def __init__(self, path):
        self.path, self.file, self.rest = path, None, ""
        self.times, self.points, self.losses = [], [], []
        self.told = time.monotonic()

    def read(self):
        if self.file is None:
            if not os.path.exists(self.path):
                return
            self.file = open(self.path, encoding="utf-8")  # closed with this object
        lines = (self.rest + self.file.read()).split("\n")
        self.rest = lines.pop()
        for line in lines:
            self.told = time.monotonic()
            self._take(json.loads(line))

    def _take(self, record):
        if record["event"] != "round" or record["poll"]:
            return
        # Round r scores the model after r steps, before its own gradient.
        if record["accuracy_round"] == record["round"] and record["round"] > 0:
            self.points.append((record["round"], sum(self.times), record["accuracy"]))
        self.times.append(record["round_s"] - record["evaluate_max_s"])
        if len(self.losses) < 3:
            self.losses.append(record["loss"])


def kimesh_commands(program, folder, config, topology):
    names = "abcd"
    config_path, topology_path = (os.path.join(folder, n) for n in ("config.yaml", "mesh.yaml"))
    tasks.write_yaml(config_path, config)
    tasks.write_yaml(topology_path, topology)
    return [[program, "node", "--config", config_path, "--topology", topology_path, "--name", name,
             "--run-folder", os.path.join(folder, "run"), "--threads", "1"] for name in names]


def mesh_of(net, kind):
    """A topology file of the network's nodes."""
    return {"kind": kind, "security": "none",
            "nodes": {name: {"address": f"tcp://{net.address(i)}:{PORT}"}
                      for i, name in enumerate("abcd")}}


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)


def run_kimesh(net, program, folder, config, topology, until):
    """Runs until `until(records)` says so, or the run ends itself. Gives the records."""
    empty(folder)
    commands = kimesh_commands(program, folder, config, mesh_of(net, topology))
    records = Records(os.path.join(folder, "run", "nodes", "a.jsonl"))
    with Processes(net, commands, folder) as processes:
        running = True
        while running and not until(records):
            time.sleep(WATCH_SECONDS)
            running = processes.running()
            records.read()
            if time.monotonic() - records.told > SILENCE_SECONDS_MAX:
                raise RunError(f"no round within {SILENCE_SECONDS_MAX} s, see {folder}")
    return {"times": records.times, "points": records.points, "losses": records.losses,
            "period": 1}


def run_peers(net, folder, job):
    """Runs peer.py on every node until its job is done. Gives its report."""
    empty(folder)
    job = {**job, "ranks": len(net.nodes), "address": net.address(0),
           "report": os.path.join(folder, "report.json")}
    path = os.path.join(folder, "job.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(job, file)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    commands = [[sys.executable, "-B", os.path.join(HERE, "peer.py"), path, str(rank)]
                for rank in range(len(net.nodes))]
    begun = time.monotonic()
    with Processes(net, commands, folder, environment) as processes:
        while processes.running():
            time.sleep(WATCH_SECONDS)
            if time.monotonic() - begun > 4 * SILENCE_SECONDS_MAX:
                raise RunError(f"not done within {4 * SILENCE_SECONDS_MAX} s, see {folder}")
    with open(job["report"], encoding="utf-8") as file:
        return json.load(file)


def path_of(report, task):
    """What is kept of a run that was to reach its target."""
    hit = curve.reached(report["points"], task.target, task.smoothing)
    return {"steps": hit and hit[0], "seconds": hit and hit[1],
            "best": curve.best(report["points"], task.smoothing),
            "step": curve.median(report["times"]), "points": report["points"],
            "losses": report["losses"]}


def pace_of(report, warm):
    """What is kept of steps whose time was taken: the first ones, and the mean of the others."""
    period = report["period"]
    skipped = -(-warm // period) * period
    later = report["times"][skipped:]
    blocks = [sum(later[i:i + period]) / period for i in range(0, len(later), period)]
    return {"first": sum(report["times"][:skipped]), "skipped": skipped,
            "median": curve.median(blocks), "mean": sum(blocks) / len(blocks),
            "steps": len(report["times"]), "losses": report["losses"]}


def network_of(name):
    return network.Network(tasks.NODES, network.SHAPES[name])
