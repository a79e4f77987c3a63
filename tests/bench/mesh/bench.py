"""All runs of the bench: what is measured, what of it is there already, and the tables."""
import collections
import importlib.metadata
import os
import subprocess
import sys

import curve
import machine
import network
import runs
import sides
import store
import table
import tasks

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.path.join(ROOT, "build", "mesh")
TASKS = ("mesh-cnn", "mesh-cnn-by-label", "mesh-transformer")
NETWORKS = ("unlimited", "100", "10", "1", "sinusoid", "one-slow")
QUICK_NETWORKS = ("unlimited", "10", "1")
LR_FACTORS = (1, 0.5, 2)   # of the config's lr, tried first, on unlimited links
LR_FARTHEST = 8            # the largest factor that is tried at all; the smallest is 1/8
WARM_STEPS = 3             # first steps, which are not typical: DDP's buckets, PowerSGD's start
PACE_STEPS = 20
LOSSES_ALIKE = 1e-4        # relative; float32 in another order differs by less
NEVER = {"steps": None, "seconds": None, "best": 0.0}
TRAINED = ("model", "optimizer", "stop", "evaluate_every")  # sections that all sides take over
# Sources that decide what is measured of every side, and further ones for peers.
MEASURING = ("curve.py", "network.py", "runs.py", "tasks.py")
PEERS_OWN = ("inputs.cpp", "models.py", "peer.py", "ways.py")


def say(text):
    print(text, file=sys.stderr, flush=True)


def digest_of_sources(names):
    return store.digest([store.digest_of_file(os.path.join(HERE, name)) for name in names])


class Bench:
    def __init__(self, options):
        self.options = options
        self.kimesh = os.path.join(ROOT, "build", "release", "kimesh")
        self.writer = os.path.join(ROOT, "build", "release", "bench_mesh_inputs")
        self.program = store.digest_of_file(self.kimesh)
        self.store = store.Store(os.path.join(BUILD, "results.jsonl"))
        self.others = 0.0  # the largest share of the cores that others took during a run
        self.cells = collections.defaultdict(table.Cell)  # (task, side, network)

    def key(self, task, side, **more):
        """All that a result depends on."""
        config = [task.config[section] for section in TRAINED]
        data = {k: v for k, v in task.config["data"].items() if k != "path"}
        key = {"task": task.name, "config": store.digest([config, data]), "side": side.name,
               "samples": task.samples, "machine": machine.name(), **more}
        if side.is_kimesh:
            key.update(program=self.program, topology=self.options.topology,
                       sources=digest_of_sources(MEASURING))
        else:
            key.update(torch=importlib.metadata.version("torch"),
                       sources=digest_of_sources(MEASURING + PEERS_OWN))
        return key

    def lr_of(self, task, side):
        """The lr with the fewest steps on unlimited links, with the first seed. While the best one
        is the smallest or the largest that was tried, the next one beyond it is tried, too."""
        usual = task.config["optimizer"]["lr"]
        if self.options.quick:
            return usual

        def steps(factor):
            path = self.path(task, side, "unlimited", 1, usual * factor, side.settings[0])
            return path["steps"] or float("inf")
        tried = {factor: steps(factor) for factor in LR_FACTORS}
        while True:
            best = min(tried, key=tried.get)
            beyond = best / 2 if best == min(tried) else best * 2
            if beyond in tried or not 1 / LR_FARTHEST <= beyond <= LR_FARTHEST:
                return usual * best
            tried[beyond] = steps(beyond)

    def quietly(self, key, make):
        """The result of `key`, which tells how much others worked while it was measured."""
        def measured():
            if not machine.wait_until_quiet(self.options.wait):
                say("others are at work on this machine: times will be too long")
            others = machine.Others()
            result = make()
            result["others"] = others.share()
            return result
        result = self.store.get(key, measured)
        self.others = max(self.others, result.get("others", 0.0))
        return result

    def path(self, task, side, where, seed, lr, setting):
        """A run to the target."""
        key = self.key(task, side, network=where, seed=seed, lr=lr, setting=setting, kind="path",
                       limit=self.options.seconds)
        try:
            return self.quietly(key, lambda: self._path(task, side, where, seed, lr, setting))
        except runs.RunError as error:  # it may diverge; the next start of this bench tries again
            say(f"  {error}")
            self.store.remember(key, NEVER)
            return NEVER

    def _path(self, task, side, where, seed, lr, setting):
        say(f"{task.name}, {where}: {side.name} {sides.setting_text(setting)} lr {lr:g} "
            f"seed {seed}")
        limit = self.options.seconds
        with runs.network_of(where) as net:
            if side.is_kimesh:
                config = task.with_compression(*sides.compression_of(side, setting), lr, seed)

                def done(records):
                    return sum(records.times) > limit or curve.reached(
                        records.points, task.target, task.smoothing) is not None
                report = runs.run_kimesh(net, self.kimesh, os.path.join(task.folder, "run"), config,
                                         self.options.topology, done)
            else:
                report = runs.run_peers(net, os.path.join(task.folder, "run"), self.job(
                    task, side, seed, lr, kind="path", target=task.target, smoothing=task.smoothing,
                    seconds_max=limit, steps_max=task.rounds_max,
                    evaluate_every=task.config["evaluate_every"]))
        result = runs.path_of(report, task)
        self.compare_losses(task, side, seed, lr, result["losses"])
        say(f"  {result['seconds'] or float('inf'):.1f} s, {result['steps'] or 0:.0f} steps, "
            f"best {result['best']:.3f}, a step {1000 * result['step']:.0f} ms")
        return result

    def job(self, task, side, seed, lr, **more):
        return {"inputs": tasks.inputs(task, seed, self.writer), "model": task.config["model"],
                "optimizer": task.optimizer(lr), "way": side.way, "seed": seed, **more}

    def compare_losses(self, task, side, seed, lr, losses):
        """Both sides begin with the same loss, and take the same first steps where all is sent, or
        they do not train the same thing."""
        dense = side.name in (sides.DENSE, sides.DDP)
        count = len(losses) if dense and losses else 1
        first = self.store.get({"task": task.name, "seed": seed, "kind": "losses", "count": count,
                                "config": store.digest(task.config), "samples": task.samples,
                                "lr": lr if dense else None},
                               lambda: losses[:count])
        for one, other in zip(losses, first):
            if not abs(one / other - 1) < LOSSES_ALIKE:
                raise runs.UnlikeError(f"{side.name} begins with losses of {losses}, others with "
                                       f"{first}: they do not train the same thing")

    def pace(self, task, side, where):
        """The time of steps."""
        key = self.key(task, side, network=where, kind="pace", quick=self.options.quick)
        return self.quietly(key, lambda: self._pace(task, side, where))

    def _pace(self, task, side, where):
        say(f"{task.name}, {where}: {side.name}, the time of steps")
        lr, least = task.config["optimizer"]["lr"], 2 * network.SHAPES[where].period_seconds()
        limit = 40 if self.options.quick else 900
        with runs.network_of(where) as net:
            if side.is_kimesh:
                config = task.with_compression(*sides.compression_of(side, {}), lr, 1)
                config["evaluate_every"] = task.rounds_max

                def done(records):
                    count, seconds = len(records.times), sum(records.times)
                    return count >= WARM_STEPS + 2 and (seconds > limit or (
                        count >= PACE_STEPS + WARM_STEPS and seconds >= least))
                report = runs.run_kimesh(net, self.kimesh, os.path.join(task.folder, "run"), config,
                                         self.options.topology, done)
            else:
                report = runs.run_peers(net, os.path.join(task.folder, "run"), self.job(
                    task, side, 1, lr, kind="pace", steps=PACE_STEPS + WARM_STEPS,
                    warm=WARM_STEPS, seconds_min=least, seconds_max=limit))
        result = runs.pace_of(report, WARM_STEPS)
        say(f"  {1000 * result['median']:.0f} ms a step, of {result['steps']}")
        return result

    def estimate(self, task, side, where, seed, lr):
        """(seconds, best accuracy) by the steps on unlimited links and the time of a step here."""
        path = self.path(task, side, "unlimited", seed, lr, side.settings[0])
        if path["steps"] is None:
            return None, path["best"]
        try:
            pace = self.pace(task, side, where)
        except runs.RunError as error:
            say(f"  {error}")
            return None, path["best"]
        step = pace["mean" if network.SHAPES[where].changes else "median"]
        return pace["first"] + (path["steps"] - pace["skipped"]) * step, path["best"]

    def measure(self, task, side, where, seed):
        lr = self.lr_of(task, side)
        cell = self.cells[task.name, side.name, where]
        if not side.in_full and where != "unlimited":
            seconds, best = self.estimate(task, side, where, seed, lr)
            return cell.add(seconds, best, "", True)
        setting = side.settings[0]
        if not self.options.quick:
            setting = min(side.settings, key=lambda s: (
                self.path(task, side, where, 1, lr, s)["seconds"] or float("inf")))
        path = self.path(task, side, where, seed, lr, setting)
        cell.add(path["seconds"], path["best"], sides.setting_text(setting), False)

    def check(self, task):
        """The rule by which peers are estimated against one run in full."""
        name, where = sides.CHECKED
        if name not in self.options.sides or where not in self.options.networks:
            return ""
        side = next(s for s in sides.PEERS if s.name == name)
        lr = self.lr_of(task, side)
        full = self.path(task, side, where, 1, lr, side.settings[0])["seconds"]
        told, _ = self.estimate(task, side, where, 1, lr)
        if full is None or told is None:
            return ""
        return (f"{task.name}: {name} at {where} Mbit/s in full {table.number(full)} s, by "
                f"the rule {table.number(told)} s")

    def has_policy(self, policy):
        done = subprocess.run([self.kimesh, "explain", "compression", policy], capture_output=True)
        return done.returncode == 0

    def wanted(self, task):
        return [side for side in sides.sides_of(task) if side.name in self.options.sides]

    def run(self):
        if not self.has_policy("auto"):
            say("this kimesh has no policy auto yet: it is left out")
            self.options.sides = [name for name in self.options.sides if name != sides.AUTO]
        chosen = [tasks.prepare(name, ROOT, BUILD, self.options.data)
                  for name in self.options.tasks]
        checks = []
        for seed in range(1, self.options.seeds + 1):
            for task in chosen:
                for where in self.options.networks:
                    for side in self.wanted(task):
                        self.measure(task, side, where, seed)
                if seed == 1:
                    checks.append(self.check(task))
            self.write(chosen, checks)

    def write(self, chosen, checks):
        """The tables of what is there so far."""
        parts = [f"{machine.name()}; kimesh: {self.options.topology}; others took at most "
                 f"{100 * self.others:.0f} % of the cores during a run"]
        for task in chosen:
            cells = {(side, where): cell for (name, side, where), cell in self.cells.items()
                     if name == task.name}
            parts.append(table.markdown(task, collections.defaultdict(table.Cell, cells),
                                        self.wanted(task), self.options.networks))
        parts += [table.NOTES.format(seconds=self.options.seconds), *filter(None, checks)]
        text = "\n\n".join(parts) + "\n"
        with open(os.path.join(BUILD, "table.md"), "w", encoding="utf-8") as file:
            file.write(text)
        print(text, flush=True)
