"""What was measured, as Markdown: who is faster than kimesh first."""
import curve

HEADS = {"unlimited": "unlimited", "100": "100 Mbit/s", "10": "10 Mbit/s", "1": "1 Mbit/s",
         "sinusoid": "10–100, sinusoid", "one-slow": "one of 10 among 100"}


def number(seconds):
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"


class Cell:
    """The runs of one side on one network, a seed each."""

    def __init__(self):
        self.seconds, self.best, self.setting, self.estimated = [], [], "", False

    def add(self, seconds, best, setting, estimated):
        self.seconds.append(float("inf") if seconds is None else seconds)
        self.best.append(best)
        self.setting, self.estimated = setting, estimated

    @property
    def median(self):
        return curve.median(self.seconds) if self.seconds else float("inf")

    def text(self, bold):
        if not self.seconds:
            return ""
        if self.median == float("inf"):
            return f"– ({curve.median(self.best):.3f})"
        told = number(self.median)
        told = ("~" if self.estimated else "") + (f"**{told}**" if bold else told)
        return told + (f" ({self.setting})" if self.setting else "")


def winners(cells, sides, networks):
    """A sentence for each network where a peer is faster than every side of kimesh."""
    lines = []
    for network in networks:
        times = [(cells[side.name, network].median, side) for side in sides
                 if cells[side.name, network].seconds]
        own = min((t for t, side in times if side.is_kimesh), default=float("inf"))
        faster = sorted((t, side.name) for t, side in times if not side.is_kimesh and t < own)
        if faster and own < float("inf"):
            names = ", ".join(f"{name} {number(t)} s" for t, name in faster)
            lines.append(f"{HEADS[network]}: {names}; kimesh's best {number(own)} s")
    return lines


def markdown(task, cells, sides, networks):
    """The table of one task. `cells`: (side, network) → Cell."""
    shown = [side for side in sides if any(cells[side.name, n].seconds for n in networks)]
    faster = winners(cells, shown, networks)
    lines = [f"### {task.name}: seconds to {task.target:g}", ""]
    lines += ["Faster than kimesh: " + ". ".join(faster) + ".", ""] if faster else []
    lines.append("| | " + " | ".join(HEADS[n] for n in networks) + " |")
    lines.append("|" + "---|" * (len(networks) + 1))
    least = {n: min(cells[s.name, n].median for s in shown) for n in networks}
    for side in shown:
        row = [cells[side.name, n].text(cells[side.name, n].median == least[n]) for n in networks]
        lines.append(f"| {side.name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


NOTES = """\
~: steps to the target on unlimited links × the time of a step on these, for sides whose steps do
not depend on the link. – (a): not within {seconds} s; a is the best accuracy. In brackets: the
setting that was best with the first seed."""
