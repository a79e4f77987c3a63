"""What is trained: the configs mesh-*.yaml with data of the user, and what both sides read."""
import copy
import glob
import os
import shutil
import subprocess
from dataclasses import dataclass

import store

try:
    import yaml
except ImportError:  # before PyTorch is there, --help works
    yaml = None

NODES = 4
# Of CIFAR-10 the first file and a part of the test: an accuracy of one half needs no more, and
# evaluations, which the clocks leave out, take a fifth of the time.
CIFAR_RECORD_BYTES = 3073
CIFAR_TRAIN, CIFAR_TEST = 10_000, 2_000

DOWNLOADS = """\
--data FOLDER must hold the data of the tasks, in itself or in folders below:
  mesh-cnn, mesh-cnn-by-label   data_batch_1.bin and test_batch.bin of the "binary version" of
                                CIFAR-10, https://www.cs.toronto.edu/~kriz/cifar.html
  mesh-transformer              tinyshakespeare.txt, "tiny Shakespeare" of a megabyte: input.txt in
                                data/tinyshakespeare of https://github.com/karpathy/char-rnn
"""


class TaskError(Exception):
    """A sentence for the user."""


def found(folder, name):
    """The first file of that name in `folder` or below."""
    files = sorted(glob.glob(os.path.join(glob.escape(folder), "**", name), recursive=True))
    if not files:
        raise TaskError(f"there is no {name} in {folder}.\n{DOWNLOADS}")
    return files[0]


@dataclass
class Task:
    """One config. `config` has the user's data in it; nothing else is changed."""
    name: str
    config: dict
    folder: str   # for what this task's runs share
    samples: str  # digest of the files of data

    @property
    def target(self):
        return self.config["stop"]["accuracy"]

    @property
    def smoothing(self):
        """Steps before and after an evaluation whose evaluations count with it."""
        return 2 * self.config["evaluate_every"]

    @property
    def rounds_max(self):
        return self.config["stop"]["rounds"]

    def optimizer(self, lr):
        return {**self.config["optimizer"], "lr": lr}

    def with_compression(self, compression, round_time, lr, seed):
        """The config of one run of kimesh, which is ended from outside."""
        config = copy.deepcopy(self.config)
        config["stop"] = {"rounds": self.rounds_max}
        config["compression"] = compression
        config.pop("round_time", None)
        if round_time:
            config["round_time"] = round_time
        config["optimizer"]["lr"] = lr
        config["seed"] = seed
        return config


def write_yaml(path, content):
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(content, file, sort_keys=False)


def cut(source, path, records):
    """The first records of a file of CIFAR-10."""
    with open(source, "rb") as file:
        part = file.read(records * CIFAR_RECORD_BYTES)
    if len(part) < records * CIFAR_RECORD_BYTES:
        raise TaskError(f"{source} is no file of the binary version of CIFAR-10: it holds fewer "
                        f"than {records} records of {CIFAR_RECORD_BYTES} bytes.\n{DOWNLOADS}")
    with open(path, "wb") as file:
        file.write(part)


def prepare(name, root, build, data):
    """The task of configs/NAME.yaml. `build`: the folder of the bench, `data`: of the user."""
    with open(os.path.join(root, "configs", name + ".yaml"), encoding="utf-8") as file:
        config = yaml.safe_load(file)
    folder = os.path.join(build, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if config["data"]["kind"] == "cifar10":
        path = os.path.join(folder, "data")
        os.makedirs(path)
        parts = {"data_batch_1.bin": CIFAR_TRAIN, "test_batch.bin": CIFAR_TEST}
        for file, records in parts.items():
            cut(found(data, file), os.path.join(path, file), records)
        files = [os.path.join(path, file) for file in parts]
    else:
        path = os.path.abspath(found(data, "tinyshakespeare.txt"))
        files = [path]
    config["data"]["path"] = path
    return Task(name, config, folder, store.digest([store.digest_of_file(file) for file in files]))


def inputs(task, seed, program):
    """The folder with what both sides start from; `program`: bench_mesh_inputs."""
    folder = os.path.join(task.folder, f"inputs-{seed}")
    if not os.path.isdir(folder):
        os.makedirs(folder + ".part")
        config = os.path.join(folder + ".part", "config.yaml")
        write_yaml(config, task.with_compression({"policy": "none"}, None,
                                                 task.config["optimizer"]["lr"], seed))
        subprocess.run([program, "--config", config, "--nodes", str(NODES), "--rounds",
                        str(task.rounds_max + 32), "--folder", folder + ".part"], check=True)
        os.rename(folder + ".part", folder)
    return folder
