"""The machine that measures, and who else works on it."""
import os
import resource
import time

LOOK_SECONDS = 2.0   # of a look at who works now
QUIET_SHARE = 0.15   # of the cores that others may take while a run begins


def name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = file.read().splitlines()
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} cores; TCP {congestion_control()}"


def congestion_control():
    with open("/proc/sys/net/ipv4/tcp_congestion_control", encoding="utf-8") as file:
        return file.read().strip()


def busy_seconds():
    """Processor time that everybody has used so far."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Of this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Others:
    """The share of the cores that others, and the kernel's network, take from its making on."""

    def __init__(self):
        self.begun, self.busy, self.own = time.monotonic(), busy_seconds(), own_seconds()

    def share(self):
        seconds = (time.monotonic() - self.begun) * os.cpu_count()
        others = busy_seconds() - self.busy - (own_seconds() - self.own)
        return max(0.0, others / seconds)


def wait_until_quiet(minutes):
    """True: nobody else works, at the latest after so many minutes."""
    end = time.monotonic() + 60 * minutes
    while True:
        others = Others()
        time.sleep(LOOK_SECONDS)
        if others.share() <= QUIET_SHARE:
            return True
        if time.monotonic() > end:
            return False
