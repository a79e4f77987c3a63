"""./dev bench mesh: time to a target accuracy, kimesh beside PyTorch, on links of several kinds.

Four nodes on this machine, each in a network namespace behind a cable of its own (network.py).
Both sides train the same model from the same point on the same samples (inputs.cpp), with one
thread a node; both clocks leave evaluation out; one rule tells when the target was reached
(curve.py). What was measured is kept in build/mesh/results.jsonl and not measured again, unless
kimesh or PyTorch, the scripts that measure, the data or the machine have changed.
"""
import argparse
import os
import subprocess
import sys

import network
import runs
import sides
import tasks
from bench import BUILD, NETWORKS, QUICK_NETWORKS, TASKS, Bench, say


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench mesh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)

    def names(text):
        return [word.strip() for word in text.split(",")]
    every = [s.name for s in sides.kimesh_sides(False) + sides.PEERS]
    parser.add_argument("--data", metavar="FOLDER", help="where the data of the tasks is")
    parser.add_argument("--quick", action="store_true",
                        help="the even cnn, three networks, one seed, no search: half an hour")
    parser.add_argument("--tasks", type=names, help=", ".join(TASKS))
    parser.add_argument("--networks", type=names, help=", ".join(NETWORKS))
    parser.add_argument("--sides", type=names, help=", ".join(every).replace("%", "%%"))
    parser.add_argument("--seeds", type=int, help="runs of which medians are told (3; quick: 1)")
    parser.add_argument("--topology", default="parameter_server", help="of kimesh's nodes, or ring")
    parser.add_argument("--seconds", type=float,
                        help="after which a run is given up (600; quick: 240)")
    parser.add_argument("--wait", type=float, default=0, metavar="MINUTES",
                        help="for the machine to become quiet before a run (0)")
    options = parser.parse_args()
    quick = options.quick
    options.tasks = options.tasks or (TASKS[:1] if quick else TASKS)
    options.networks = options.networks or (QUICK_NETWORKS if quick else NETWORKS)
    options.sides = options.sides or (list(sides.QUICK) if quick else every)
    options.seeds = options.seeds or (1 if quick else 3)
    options.seconds = options.seconds or (240.0 if quick else 600.0)
    for said, known in ((options.tasks, TASKS), (options.networks, NETWORKS),
                        (options.sides, every), ([options.topology], ("parameter_server", "ring"))):
        for name in said:
            if name not in known:
                parser.error(f"there is no {name}; there are: " + ", ".join(known))
    if not options.data:
        parser.error("--data is missing.\n" + tasks.DOWNLOADS)
    return options


def give_to_caller(folder):
    """Files that root made through sudo become those of the user who called it."""
    user, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() == 0 and user and group:
        subprocess.run(["chown", "-R", "--no-dereference", f"{user}:{group}", folder], check=False)


def main():
    options = arguments()
    os.makedirs(BUILD, exist_ok=True)
    try:
        Bench(options).run()
    except (network.NetworkError, runs.RunError, runs.UnlikeError, tasks.TaskError) as error:
        say(f"bench mesh: {error}")
        return 1
    finally:
        give_to_caller(BUILD)
    return 0


if __name__ == "__main__":
    sys.exit(main())
