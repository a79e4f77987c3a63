"""kimesh's models in PyTorch, with the same names, and the samples that kimesh wrote."""
import json
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

EVALUATION_BATCH = 64  # samples, as kimesh's
GROUPS = 8             # of a GroupNorm, as kimesh's


class Cnn(nn.Module):
    """kind: cnn, with the order of layers and the layout of images that kimesh has."""

    def __init__(self, shape, options):
        super().__init__()
        layers, channels, side = [], shape["channels"], shape["height"]
        for out in options["channels"]:
            norm = nn.GroupNorm(math.gcd(GROUPS, out), out)
            layers += [nn.Conv2d(channels, out, 3, 1, 1), norm, nn.MaxPool2d(2), nn.ReLU()]
            channels, side = out, side // 2
        layers += [nn.Flatten(), nn.Linear(channels * side * side, options["dense"]), nn.ReLU(),
                   nn.Linear(options["dense"], shape["classes"])]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x.contiguous(memory_format=torch.channels_last))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        count, length, width = x.shape
        q, k, v = self.in_proj(x).view(
            count, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(mixed.transpose(1, 2).reshape(count, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class Transformer(nn.Module):
    """kind: transformer."""

    def __init__(self, shape, options):
        super().__init__()
        width = options["embedding"]
        self.tokens = nn.Embedding(shape["classes"], width)
        self.positions = nn.Embedding(shape["length"], width)
        self.blocks = nn.Sequential(*[Block(width, options["heads"])
                                      for _ in range(options["layers"])])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, shape["classes"], bias=False)

    def forward(self, x):
        x = self.tokens(x) + self.positions.weight[:x.shape[1]]
        return self.head(self.norm(self.blocks(x)))


MODELS = {"cnn": Cnn, "transformer": Transformer}


def safetensors(path):
    """Name → float32 tensor."""
    with open(path, "rb") as file:
        raw = file.read()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    values = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(raw, "<f4", (end - begin) // 4, start + begin)
        values[name] = torch.from_numpy(array.copy()).view(entry["shape"])
    return values


class Inputs:
    """The folder that bench_mesh_inputs wrote."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "inputs.json"), encoding="utf-8") as file:
            self.shape = json.load(file)
        shape = self.shape
        self.batches = np.fromfile(os.path.join(folder, "batches.bin"), "<u4").reshape(
            shape["nodes"], shape["rounds"], shape["batch"])

    def model(self, options):
        model = MODELS[options["kind"]](self.shape, options)
        model.load_state_dict(safetensors(os.path.join(self.folder, "first.safetensors")))
        return model

    def samples(self, name):
        """(inputs, targets) of the train or test set."""
        count, path = self.shape[name], os.path.join(self.folder, name)
        if self.shape["tokens"]:
            rows = torch.from_numpy(np.fromfile(path + ".bin", "<u2").astype(np.int64)).view(
                count, -1)
            return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
        channels, height, width = (self.shape[k] for k in ("channels", "height", "width"))
        pixels = torch.from_numpy(np.fromfile(path + ".bin", np.uint8)).view(
            count, channels, height, width)
        scale = torch.tensor(self.shape["scale"]).view(-1, 1, 1)
        offset = torch.tensor(self.shape["offset"]).view(-1, 1, 1)
        labels = np.fromfile(path + "_labels.bin", "<u2").astype(np.int64)
        return pixels * scale + offset, torch.from_numpy(labels)


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, -2), y.flatten())


@torch.no_grad()
def hits(model, x, y):
    """Right answers, and how many there are."""
    right = 0
    for i in range(0, len(x), EVALUATION_BATCH):
        right += int((model(x[i:i + EVALUATION_BATCH]).argmax(-1) == y[i:i + EVALUATION_BATCH])
                     .sum())
    return right, y.numel()
