"""Who is compared: kimesh's policies and PyTorch's ways, with the settings that each may have."""
from dataclasses import dataclass, field

DENSE = "kimesh dense"
AUTO = "kimesh auto"
DDP = "DDP"


@dataclass(frozen=True)
class Side:
    """`settings`: what differs between tries, the usual one first; of peers there is one."""
    name: str
    way: str = ""       # of ways.py; empty: kimesh
    policy: str = ""
    settings: tuple = field(default=({},))
    in_full: bool = False  # its bytes follow the link, so that only a whole run tells its time
    needs_sgd: bool = False

    @property
    def is_kimesh(self):
        return not self.way


def kimesh_sides(tokens):
    """kimad's round times and fixed's bits per element and message."""
    times = ("400ms", "250ms", "800ms") if tokens else ("100ms", "200ms", "70ms", "400ms")
    return [
        Side(AUTO, policy="auto", in_full=True),
        Side("kimesh kimad", policy="kimad", in_full=True,
             settings=tuple({"round_time": time} for time in times)),
        Side("kimesh fixed", policy="fixed", in_full=True,
             settings=tuple({"bits": bits} for bits in (0.1, 0.3, 0.03))),
        Side(DENSE, policy="none"),
    ]


PEERS = [
    Side(DDP, "ddp"),
    Side("DDP fp16", "fp16"),
    Side("PowerSGD rank 2", "powersgd-2"),
    Side("PowerSGD rank 4", "powersgd-4"),
    Side("top-k 1%", "topk-1"),
    Side("top-k 0.1%", "topk-0.1"),
    Side("DGC 1%", "dgc-1", needs_sgd=True),
    Side("DGC 0.1%", "dgc-0.1", needs_sgd=True),
    Side("local SGD H8", "local-8"),
    Side("local SGD H32", "local-32"),
    Side("DiLoCo H8", "diloco-8"),
    Side("DiLoCo H32", "diloco-32"),
]
QUICK = (AUTO, "kimesh kimad", DENSE, DDP, "PowerSGD rank 4", "top-k 1%", "top-k 0.1%", "DGC 0.1%",
         "DiLoCo H32")
CHECKED = ("PowerSGD rank 4", "10")  # the peer and the network of the full run that checks the rule


def sides_of(task):
    """All that can train the task."""
    sgd = task.config["optimizer"]["kind"] == "sgd"
    tokens = task.config["data"]["kind"] == "text"
    return [side for side in kimesh_sides(tokens) + PEERS if sgd or not side.needs_sgd]


def compression_of(side, setting):
    """(compression, round_time) of a config."""
    if side.policy in ("none", "auto"):
        return {"policy": side.policy}, None
    compression = {"policy": side.policy, "compressor": "dzq"}
    if "bits" in setting:
        compression["bits"] = setting["bits"]
    return compression, setting.get("round_time")


def setting_text(setting):
    if "bits" in setting:
        return f"{setting['bits']} bit"
    return setting.get("round_time", "")
