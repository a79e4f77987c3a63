"""A residual network on handwritten digits, in plain PyTorch: one node of a mesh.

    python resnet.py a & python resnet.py b & python resnet.py c & python resnet.py d
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, relu

import kimesh

HERE = Path(__file__).parent


class Block(nn.Module):
    """Two convolutions beside a shortcut. Group norms keep no running statistics, which each node
    would change by its own batches alone."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.GroupNorm(4, outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.GroupNorm(4, outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = relu(self.first_norm(self.first(x)))
        return relu(self.second_norm(self.second(inner)) + self.shortcut(x))


def resnet(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, 3, 1, 1), Block(width, width, 1), Block(width, 2 * width, 2),
        Block(2 * width, 4 * width, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4 * width, 10))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("name", help="of the node in the topology")
    arguments.add_argument("--config", default=HERE / "run.yaml")
    arguments.add_argument("--topology", default=HERE / "ring4.yaml")
    arguments.add_argument("--folder", help="of the run, which the nodes may share")
    arguments.add_argument("--resume", help="a run's folder, to go on with")
    given = arguments.parse_args()

    torch.set_num_threads(1)  # four nodes share this machine
    (images, labels), (test_images, test_labels) = [
        (torch.from_numpy(x), torch.from_numpy(y)) for x, y in kimesh.digits()]
    model = resnet(width=8)

    @torch.no_grad()
    def score() -> kimesh.Evaluation:
        part = mesh.test_indices(test_labels)
        scores, targets = model(test_images[part]), test_labels[part]
        return kimesh.Evaluation(int((scores.argmax(1) == targets).sum()), len(targets),
                                 cross_entropy(scores, targets, reduction="sum").item())

    mesh = kimesh.Mesh(model.named_parameters(), config=given.config, topology=given.topology,
                       name=given.name, evaluate=score, folder=given.folder, resume=given.resume)
    while mesh.running:
        batch = mesh.indices(labels, 16)  # of this node's share, by round
        loss = cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        mesh.step(loss=loss.item())
    torch.save(model.state_dict(), Path(mesh.folder) / f"{given.name}.pt")
    print(f"node {given.name} is {mesh.outcome}: accuracy {mesh.accuracy}, {mesh.folder}")


if __name__ == "__main__":
    main()
