"""A small GPT that learns to write like a text file, in plain PyTorch: one node of a mesh.

    python gpt.py a & python gpt.py b & python gpt.py c & python gpt.py d
"""

import argparse
import pickle
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

import kimesh

HERE = Path(__file__).parent
LENGTH, WIDTH, HEADS, LAYERS, BATCH = 64, 64, 4, 2, 8


class Layer(nn.Module):
    """Attention to what came before, then a dense network, each beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.dense_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.heads, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.dense = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                   nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        parts = self.heads(self.attention_norm(x)).unflatten(-1, (3, HEADS, -1)).unbind(-3)
        q, k, v = (part.transpose(-3, -2) for part in parts)
        seen = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.join(seen.transpose(-3, -2).flatten(-2))
        return x + self.dense(self.dense_norm(x))


class Gpt(nn.Module):
    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(tokens, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, tokens)

    def forward(self, text: Tensor) -> Tensor:
        x = self.token(text) + self.place(torch.arange(text.shape[-1]))
        return self.head(self.norm(self.layers(x)))


@torch.no_grad()
def write(model: Gpt, text: Tensor, count: int) -> Tensor:
    for _ in range(count):
        scores = model(text[-LENGTH:])[-1]
        text = torch.cat([text, torch.multinomial(scores.softmax(-1), 1)])
    return text


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("name", help="of the node in the topology")
    arguments.add_argument("--text", type=Path, default=HERE.parents[1] / "docs/architecture.md")
    arguments.add_argument("--config", default=HERE / "gpt.yaml")
    arguments.add_argument("--topology", default=HERE / "ring4.yaml")
    arguments.add_argument("--folder", help="of the run, which the nodes may share")
    arguments.add_argument("--resume", help="a run's folder, to go on with")
    given = arguments.parse_args()

    torch.set_num_threads(1)  # four nodes share this machine
    letters = given.text.read_text(encoding="utf-8")
    alphabet = sorted(set(letters))
    text = torch.tensor([alphabet.index(letter) for letter in letters])
    model = Gpt(len(alphabet))
    chance = torch.Generator()

    mesh = kimesh.Mesh(
        model.named_parameters(), config=given.config, topology=given.topology, name=given.name,
        folder=given.folder, resume=given.resume,
        # The generator is the loop's own state: a checkpoint holds it.
        state=(lambda: pickle.dumps(chance.get_state()),
               lambda kept: chance.set_state(pickle.loads(kept))))
    chance.manual_seed(mesh.seed + mesh.nodes.index(mesh.name))  # each node reads other places
    while mesh.running:
        places = torch.randint(len(text) - LENGTH, (BATCH, 1), generator=chance)
        samples = text[places + torch.arange(LENGTH + 1)]
        loss = cross_entropy(model(samples[:, :-1]).flatten(0, 1), samples[:, 1:].flatten())
        loss.backward()
        mesh.step(loss=loss.item())
        if mesh.name == "a" and mesh.last_round and mesh.last_round["round"] % 100 == 99:
            with mesh.agreed():
                told = write(model, text[:1], 80)
            print("".join(alphabet[token] for token in told))
    print(f"node {given.name} is {mesh.outcome}: {mesh.folder}")


if __name__ == "__main__":
    main()
