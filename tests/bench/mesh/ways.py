"""How PyTorch's side brings gradients together: what people use when links are slow.

Each way takes the model and its options and has `step(batch)`, which computes a gradient, exchanges
what the way exchanges and moves the parameters; it returns the loss of its own batch. `period` is
the number of steps between exchanges.
"""
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.nn.parallel import DistributedDataParallel

from models import loss_of

POWERSGD_START = 2   # dense steps before the first that is compressed; the least that it allows
ONE_BUCKET_MB = 1024  # more than any model here
OUTER_LR, OUTER_MOMENTUM = 0.7, 0.9  # of DiLoCo (Douillard et al., 2023)


def make_optimizer(parameters, options, momentum=None):
    if options["kind"] == "adamw":
        return torch.optim.AdamW(parameters, lr=options["lr"],
                                 betas=(options.get("beta1", 0.9), options.get("beta2", 0.999)),
                                 eps=1e-8, weight_decay=options.get("weight_decay", 0.0))
    momentum = options.get("momentum", 0.0) if momentum is None else momentum
    return torch.optim.SGD(parameters, lr=options["lr"], momentum=momentum,
                           nesterov=bool(options.get("nesterov", False)) and momentum > 0,
                           weight_decay=options.get("weight_decay", 0.0))


class Ddp:
    """DistributedDataParallel with one of its hooks."""
    period = 1

    def __init__(self, model, options, hook="", rank=0):
        # PowerSGD starts exchanges when others end; of two buckets they come in another order on
        # each rank, which gloo does not survive. So its model is one bucket.
        cap = ONE_BUCKET_MB if hook == "powersgd" else None
        self.model = DistributedDataParallel(model, bucket_cap_mb=cap)
        self.optimizer = make_optimizer(model.parameters(), options)
        if hook == "fp16":
            self.model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        elif hook == "powersgd":
            state = powersgd.PowerSGDState(None, matrix_approximation_rank=rank,
                                           start_powerSGD_iter=POWERSGD_START)
            self.model.register_comm_hook(state, powersgd.powerSGD_hook)

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = loss_of(self.model, *batch)
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Flat:
    """The parameters and their gradients as one vector each."""

    def __init__(self, model):
        self.model = model
        parameters = list(model.parameters())
        size = sum(p.numel() for p in parameters)
        self.x, self.g, at = torch.empty(size), torch.zeros(size), 0
        for p in parameters:
            end = at + p.numel()
            self.x[at:end] = p.data.reshape(-1)
            p.data, p.grad = self.x[at:end].view(p.shape), self.g[at:end].view(p.shape)
            at = end

    def gradient(self, batch):
        self.g.zero_()
        loss = loss_of(self.model, *batch)
        loss.backward()
        return loss.item()


class Largest:
    """Sends the largest elements of a vector, as float32 with an index of 32 bits each."""

    def __init__(self, size, ratio):
        self.keep = max(1, int(size * ratio))
        self.sums = torch.empty(size)
        self.indices = None  # of what was sent last

    def mean(self, vector):
        """The mean over the ranks of what each sends."""
        self.indices = torch.topk(vector.abs(), self.keep, sorted=False).indices
        own = torch.cat([vector[self.indices].view(torch.int32), self.indices.to(torch.int32)])
        others = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(others, own)
        self.sums.zero_()
        for other in others:
            self.sums.index_add_(0, other[self.keep:], other[:self.keep].view(torch.float32))
        return self.sums.div_(len(others))


class TopK:
    """The largest of gradient and residual (Stich et al., 2018), then the optimizer everywhere."""
    period = 1

    def __init__(self, model, options, ratio):
        self.flat = Flat(model)
        self.residual = torch.zeros_like(self.flat.g)
        self.largest = Largest(self.residual.numel(), ratio)
        self.optimizer = make_optimizer(model.parameters(), options)

    def step(self, batch):
        loss = self.flat.gradient(batch)
        self.residual += self.flat.g
        self.flat.g.copy_(self.largest.mean(self.residual))
        self.residual[self.largest.indices] = 0
        self.optimizer.step()
        return loss


class Dgc:
    """Deep gradient compression (Lin et al., 2018): momentum is taken before the residual, and both
    forget what was sent. Of its warm-up nothing is taken: the ratio is the same in all steps."""
    period = 1

    def __init__(self, model, options, ratio):
        self.flat = Flat(model)
        self.momentum, self.nesterov = options["momentum"], options.get("nesterov", False)
        self.u, self.v = torch.zeros_like(self.flat.g), torch.zeros_like(self.flat.g)
        self.largest = Largest(self.v.numel(), ratio)
        self.optimizer = make_optimizer(model.parameters(), options, momentum=0.0)

    def step(self, batch):
        loss = self.flat.gradient(batch)
        self.u.mul_(self.momentum).add_(self.flat.g)
        self.v += self.u
        if self.nesterov:
            self.v += self.flat.g + (self.momentum - 1) * self.u
        self.flat.g.copy_(self.largest.mean(self.v))
        self.u[self.largest.indices] = 0
        self.v[self.largest.indices] = 0
        self.optimizer.step()
        return loss


class LocalSgd:
    """Each rank takes `period` steps alone; then the parameters become their mean."""

    def __init__(self, model, options, period):
        self.flat, self.period, self.taken = Flat(model), period, 0
        self.optimizer = make_optimizer(model.parameters(), options)

    def step(self, batch):
        loss = self.flat.gradient(batch)
        self.optimizer.step()
        self.taken += 1
        if self.taken % self.period == 0:
            self.meet()
        return loss

    def meet(self):
        dist.all_reduce(self.flat.x)
        self.flat.x /= dist.get_world_size()


class DiLoCo(LocalSgd):
    """LocalSgd whose mean movement is the gradient of an outer Nesterov step."""

    def __init__(self, model, options, period):
        super().__init__(model, options, period)
        self.start, self.velocity = self.flat.x.clone(), torch.zeros_like(self.flat.x)

    def meet(self):
        super().meet()
        movement = self.start - self.flat.x
        self.velocity.mul_(OUTER_MOMENTUM).add_(movement)
        self.start.add_(movement + OUTER_MOMENTUM * self.velocity, alpha=-OUTER_LR)
        self.flat.x.copy_(self.start)


WAYS = {
    "ddp": Ddp,
    "fp16": lambda model, options: Ddp(model, options, "fp16"),
    "powersgd-2": lambda model, options: Ddp(model, options, "powersgd", 2),
    "powersgd-4": lambda model, options: Ddp(model, options, "powersgd", 4),
    "topk-1": lambda model, options: TopK(model, options, 0.01),
    "topk-0.1": lambda model, options: TopK(model, options, 0.001),
    "dgc-1": lambda model, options: Dgc(model, options, 0.01),
    "dgc-0.1": lambda model, options: Dgc(model, options, 0.001),
    "local-8": lambda model, options: LocalSgd(model, options, 8),
    "local-32": lambda model, options: LocalSgd(model, options, 32),
    "diloco-8": lambda model, options: DiLoCo(model, options, 8),
    "diloco-32": lambda model, options: DiLoCo(model, options, 32),
}
