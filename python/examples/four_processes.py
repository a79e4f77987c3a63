"""Four processes of this machine train together, each on its quarter of the digits; NumPy alone.

    python four_processes.py
"""

import multiprocessing
import sys
from pathlib import Path

import numpy as np

import kimesh

HERE = Path(__file__).parent


def softmax_regression(parameters, x, y):
    """Loss and gradient of scores = x · weight + bias."""
    scores = x @ parameters["weight"] + parameters["bias"]
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    loss = -np.log(shares[np.arange(len(y)), y]).mean()
    shares[np.arange(len(y)), y] -= 1
    shares /= np.float32(len(y))
    return loss, {"weight": x.T @ shares, "bias": shares.sum(0)}


def train(name: str, config: Path, folder: str | None) -> None:
    (images, labels), (test_images, test_labels) = kimesh.digits()
    x, test_x = (part.reshape(len(part), -1) for part in (images, test_images))
    parameters = {"weight": np.zeros((64, 10), np.float32), "bias": np.zeros(10, np.float32)}

    def score() -> kimesh.Evaluation:
        now, part = mesh.parameters, mesh.test_indices(test_labels)
        guesses = (test_x[part] @ now["weight"] + now["bias"]).argmax(1)
        return kimesh.Evaluation(int((guesses == test_labels[part]).sum()), len(part))

    def tell(record: dict) -> None:
        if name == "a" and record["round"] % 50 == 0:
            links = ", ".join(f"{link.to}: {(link.rate_bits_per_s or 0) / 1e6:.1f} Mbit/s"
                              for link in mesh.links)
            print(f"round {record['round']}: loss {record['loss']:.3f}, a sends to {links}")

    with kimesh.Mesh(parameters, config=config, topology=HERE / "ring4.yaml", name=name,
                     folder=folder, evaluate=score, on_round=tell) as mesh:
        while mesh.running:
            batch = mesh.indices(labels, 32)
            loss, gradient = softmax_regression(parameters, x[batch], labels[batch])
            parameters = mesh.step(gradient, loss=loss)
        accuracy = "not known" if mesh.accuracy is None else f"{mesh.accuracy:.3f}"
        print(f"node {name} is {mesh.outcome}: accuracy {accuracy}, {mesh.folder}")


if __name__ == "__main__":
    config = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "run.yaml"
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    spawn = multiprocessing.get_context("spawn")  # each node is a fresh Python
    nodes = [spawn.Process(target=train, args=(name, config, folder)) for name in "abcd"]
    for node in nodes:
        node.start()
    for node in nodes:
        node.join()
    sys.exit(max(abs(node.exitcode or 0) for node in nodes))
