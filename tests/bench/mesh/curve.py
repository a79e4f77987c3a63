"""When a run reached its target: the same rule for all sides."""


def smoothed(points, width):
    """`points`: (steps, seconds, accuracy) in order. Each point whose surroundings are known, with
    the mean accuracy of all that are at most `width` steps away: single evaluations jump by some
    percent."""
    return [(steps, seconds, mean([p[2] for p in points if abs(p[0] - steps) <= width]))
            for steps, seconds, _ in points if steps + width <= points[-1][0]]


def reached(points, target, width):
    """(steps, seconds) where the smoothed accuracy crosses `target`, or None."""
    before = None
    for steps, seconds, accuracy in smoothed(points, width):
        if accuracy >= target:
            if before is None:
                return steps, seconds
            share = (target - before[2]) / (accuracy - before[2])
            return (before[0] + share * (steps - before[0]),
                    before[1] + share * (seconds - before[1]))
        before = (steps, seconds, accuracy)
    return None


def best(points, width):
    return max((accuracy for _, _, accuracy in smoothed(points, width)), default=0.0)


def mean(values):
    return sum(values) / len(values)


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
