"""Nodes as network namespaces of this machine, each with one cable into a common bridge.

Both ends of a cable are shaped by a token bucket of the kernel (tc tbf), so that all that a node
sends shares its rate, and all that it receives as well. Needs Linux, root, iproute2 and util-linux.
Namespaces live as long as a process that holds them, which ends with this one: nothing is left
behind, even after a kill.
"""
import math
import subprocess
import threading
import time
from dataclasses import dataclass

BUCKET_BYTES = 16_000  # what an idle cable saves up
QUEUE_SECONDS = 0.2    # what waits before packets are dropped, as in home routers
CHANGE_SECONDS = 0.1   # between two changes of a rate that follows the clock
MEGABIT = 1e6


class NetworkError(Exception):
    """This machine lets us make no such network; the text says why."""


@dataclass(frozen=True)
class Shape:
    """Rates of a network. `rate(node, seconds)` gives bits/s, or None for as fast as it goes."""
    name: str
    rate: object
    changes: bool = False

    def period_seconds(self):
        return SINUSOID_SECONDS if self.changes else 0.0


SINUSOID_SECONDS = 8.0


def sinusoid(node, seconds):
    """10 to 100 Mbit/s and back in 8 s, all nodes together."""
    del node
    return (55 - 45 * math.cos(2 * math.pi * seconds / SINUSOID_SECONDS)) * MEGABIT


SHAPES = {shape.name: shape for shape in (
    Shape("unlimited", lambda node, seconds: None),
    Shape("100", lambda node, seconds: 100 * MEGABIT),
    Shape("10", lambda node, seconds: 10 * MEGABIT),
    Shape("1", lambda node, seconds: 1 * MEGABIT),
    Shape("sinusoid", sinusoid, changes=True),
    Shape("one-slow", lambda node, seconds: (10 if node == 3 else 100) * MEGABIT),
)}


class Namespace:
    """A network namespace, held by a process of ours."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c",
             "ip link set lo up && echo ready; cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.holder.stdout.readline()
        if said.strip() != "ready":
            raise NetworkError("this machine lets us make no network namespace (are you root?): "
                               + said.strip())

    def command(self, words):
        """`words` as a command of this namespace, which ends when this process does."""
        return ["setpriv", "--pdeathsig", "KILL", "nsenter",
                f"--net=/proc/{self.holder.pid}/ns/net", *words]

    def run(self, line):
        done = subprocess.run(self.command(line.split()), capture_output=True, text=True)
        if done.returncode != 0:
            raise NetworkError(f"`{line}` failed: {done.stderr.strip()}")

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()


def bucket(rate):
    return (f"tbf rate {rate:.0f} burst {BUCKET_BYTES} "
            f"limit {max(int(rate / 8 * QUEUE_SECONDS), 4000) + BUCKET_BYTES}")


class Network:
    """`nodes` namespaces, joined and shaped. Use in a `with`."""

    def __init__(self, nodes, shape):
        self.shape = shape
        self.hub = Namespace()
        self.nodes = [Namespace() for _ in range(nodes)]
        self.stop = threading.Event()
        self.thread = None
        self.hub.run("ip link add bridge type bridge")
        self.hub.run("ip link set bridge up")
        for i, node in enumerate(self.nodes):
            node.run(f"ip link add eth0 type veth peer name to{i} netns {self.hub.holder.pid}")
            # Packets of one segment: a cable carries no 64 KB at once, a veth pair would. Where
            # nothing is shaped, the pair is the cable.
            segments = "gso_max_segs 1 " if shape.rate(i, 0.0) else ""
            node.run(f"ip address add {self.address(i)}/24 dev eth0")
            node.run(f"ip link set eth0 {segments}up")
            self.hub.run(f"ip link set to{i} master bridge {segments}up")
        self._shape("add", 0.0)
        if shape.changes:
            self.thread = threading.Thread(target=self._follow, daemon=True)
            self.thread.start()

    def address(self, node):
        return f"10.88.0.{node + 1}"

    def command(self, node, words):
        return self.nodes[node].command(words)

    def _lines(self, verb, seconds):
        """Each namespace with the lines for tc that shape its ends."""
        rates = [self.shape.rate(i, seconds) for i in range(len(self.nodes))]
        lines = [(self.hub, [f"qdisc {verb} dev to{i} root {bucket(rate)}"
                             for i, rate in enumerate(rates) if rate])]
        for node, rate in zip(self.nodes, rates):
            lines.append((node, [f"qdisc {verb} dev eth0 root {bucket(rate)}"] if rate else []))
        return lines

    def _shape(self, verb, seconds):
        for namespace, lines in self._lines(verb, seconds):
            for line in lines:
                namespace.run("tc " + line)

    def _follow(self):
        """Changes the rates by the clock, through one tc in each namespace that reads on."""
        shapers = {id(namespace): subprocess.Popen(
            namespace.command(["tc", "-batch", "-"]), stdin=subprocess.PIPE, text=True)
            for namespace in [self.hub, *self.nodes]}
        begun = time.monotonic()
        while not self.stop.wait(CHANGE_SECONDS):
            for namespace, lines in self._lines("change", time.monotonic() - begun):
                shapers[id(namespace)].stdin.write("".join(line + "\n" for line in lines))
                shapers[id(namespace)].stdin.flush()
        for shaper in shapers.values():
            shaper.stdin.close()
            shaper.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread:
            self.thread.join()
        for namespace in [*self.nodes, self.hub]:
            namespace.close()
