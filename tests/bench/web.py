#!/usr/bin/env python3
"""What the live page costs: python3 tests/bench/web.py build/release/kimesh

Needs Debian's chromium-headless-shell. Prints a line for each figure of docs/figures.md.
"""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONFIG = """model: {kind: mlp, hidden: [256, 128]}
data: {kind: digits, batch: 64, split: even}
optimizer: {kind: sgd, lr: 0.1, momentum: 0.85}
compression: {policy: kimad, compressor: topk}
round_time: 25ms
stop: {rounds: 1000000}
"""
QUADRATIC = """quadratic: {dimension: 2000}
optimizer: {kind: sgd, lr: 0.1}
compression: {policy: kimad, compressor: topk}
round_time: 50ms
stop: {rounds: 1000000}
"""
PORT, WATCHED_S, NODES = 9219, 20, 200


class Browser:
    """A headless Chromium, driven over two pipes."""

    def __init__(self, profile):
        hear, self.to = os.pipe()
        self.heard, say = os.pipe()

        def become():
            ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (hear, say)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={profile}"], preexec_fn=become, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.rest, self.session = 0, b"", None

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.heard, 1 << 20)
            message, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(message)
            if answer.get("id") == self.number:
                return answer["result"]

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank", width=1200, height=1600)
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)["result"].get("value")


def cpu_of_server(process):
    """Seconds of CPU time that the thread `http` of a process has used."""
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "http":
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    raise SystemExit("there is no thread of the page")


def get(path):
    begun = time.perf_counter()
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=30) as answer:
        body = answer.read()
    return body, time.perf_counter() - begun


def wait_for_page(process, rounds):
    while process.poll() is None:
        try:
            if json.loads(get("/state.json")[0])["round"] >= rounds:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"kimesh ended with {process.returncode} before its page told round {rounds}")


def watch(program, words, folder, name):
    process = subprocess.Popen([program, *words, "--run", name, "--web", f"127.0.0.1:{PORT}"],
                               cwd=folder, stdout=subprocess.DEVNULL)
    browser = Browser(f"{folder}/{name}-profile")
    try:
        wait_for_page(process, 3)
        unwatched = cpu_of_server(process)
        time.sleep(5)
        print(f"{name}: CPU of the page while nobody looks: "
              f"{(cpu_of_server(process) - unwatched) / 5:.2%} of a core")
        browser.open(f"http://127.0.0.1:{PORT}/")
        time.sleep(5)
        before, begun = cpu_of_server(process), time.perf_counter()
        time.sleep(WATCHED_S)
        used = (cpu_of_server(process) - before) / (time.perf_counter() - begun)
        state = json.loads(get("/state.json")[0])
        nodes, rate = len(state["run"]["nodes"]), state["rounds_per_s"]
        print(f"{name}: while watched, {nodes} nodes, {rate} rounds a second: {used:.2%} of a core, "
              f"{used / nodes:.3%} a node")
        page, whole = get("/")[0], get("/state.json?node=0&link=0")
        print(f"{name}: page {len(page)} bytes, whole state {len(whole[0])} bytes "
              f"in {whole[1] * 1e3:.1f} ms")
        paint = browser.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        drawn = [browser.value("(() => { const t = performance.now(); draw(); "
                               "document.body.offsetHeight; return performance.now() - t; })()")
                 for _ in range(20)]
        print(f"{name}: first paint {paint:.0f} ms, a drawing {statistics.median(drawn):.1f} ms")
    finally:
        browser.process.terminate()
        process.send_signal(signal.SIGINT)
        begun = time.perf_counter()
        process.wait()
        print(f"{name}: ended {time.perf_counter() - begun:.2f} s after Ctrl-C")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    folder = tempfile.mkdtemp(prefix="kimesh-web-")
    try:
        pathlib.Path(folder, "config.yaml").write_text(CONFIG)
        pathlib.Path(folder, "quadratic.yaml").write_text(QUADRATIC)
        nodes = "".join(f"  n{i}: {{address: \"tcp://127.0.0.1:{10000 + i}\"}}\n"
                        for i in range(NODES))
        pathlib.Path(folder, "tree.yaml").write_text(
            "kind: tree\nfan_out: 3\nlinks: {default: {rate: 4Mbit, delay: 2ms}}\nnodes:\n" + nodes)
        ring = str(SOURCE / "topologies/ring4.yaml")
        watch(program, ["up", "--config", "config.yaml", "--topology", ring], folder, "ring4")
        watch(program, ["simulate", "--config", "quadratic.yaml", "--topology", "tree.yaml"],
              folder, "tree200")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
