"""kimesh: trains one model on machines that are joined by slow, uneven, changing links.

    mesh = kimesh.Mesh(model.named_parameters(), config="run.yaml", topology="ring4.yaml", name="a")
    while mesh.running:
        x, y = batch(mesh.round)
        score = loss(model(x), y)
        score.backward()
        mesh.step(loss=score.item())
    model.eval()

`Mesh` says what each of these does.
"""

import numpy as np

from kimesh import _core
from kimesh._core import ConfigError, MeshError, version
from kimesh.answers import Evaluation
from kimesh.mesh import Link, Mesh

__all__ = ["ConfigError", "Evaluation", "Link", "Mesh", "MeshError", "digits"]
__version__ = version()


def digits(seed: int = 1) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Training set and test set of 1797 handwritten digits, which are built in: images
    [samples, 1, 8, 8] and their classes [samples]. The optical recognition of handwritten digits
    (UCI, CC BY 4.0)."""
    return _core.digits(seed)
