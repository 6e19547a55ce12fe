"""Several readers that differ in nothing but their seeds, as one: every weight of all of them in one tensor.

A recurrence is a chain of small steps that leaves most of a GPU idle, so seven readers take only two to four times as
long as one (docs/performance.md). What each of them computes is what it would compute alone, up to rounding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, vmap

from epireader.data.batches import Batch
from epireader.data.questions import Shape
from epireader.layers.directions import step_by_step
from epireader.readers.reading import ReaderModule, Reading
from epireader.readers.saved import Model
from epireader.training.batches import TrainingBatches
from epireader.training.config import TrainingConfig
from epireader.training.optimizer import add_l2_gradient, regularised
from epireader.training.step import GraphReplay, Losses, TakeStep


class Members:
    """Readers with their weights side by side. Each stays a reader: its weights are views of the common ones."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = models
        named = [dict(model.module.named_parameters()) for model in models]
        self.weights = {
            name: nn.Parameter(torch.stack([parameters[name].detach() for parameters in named])) for name in named[0]
        }
        with torch.no_grad():
            for number, parameters in enumerate(named):
                for name, parameter in parameters.items():
                    own = self.weights[name][number]
                    parameter.set_(own.untyped_storage(), own.storage_offset(), own.shape, own.stride())
        module = models[0].module
        self._learner = Learner(module)
        self._unlearnt = {
            f"{name}.weight": part.padding_idx
            for name, part in module.named_modules()
            if isinstance(part, nn.Embedding) and part.padding_idx is not None
        }
        self.regularised = [self.weights[name] for name in regularised(module)]

    def __len__(self) -> int:
        return len(self.models)

    def losses(self, batch: Batch) -> tuple[Float[Tensor, " reader"], dict[str, Float[Tensor, " reader"]]]:
        """The loss of each reader on its share of a batch, and its parts."""
        tensors = {field.name: getattr(batch, field.name) for field in fields(Batch)}
        shares = {name: tensor.unflatten(0, (len(self), -1)) for name, tensor in tensors.items()}

        def loss(weights: Mapping[str, Tensor], share: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
            named = {f"reader.{name}": weight for name, weight in weights.items()}
            total, parts = functional_call(self._learner, named, (Batch(**share),))
            return total, parts

        with step_by_step():
            totals, parts = vmap(loss, randomness="different")(self.weights, shares)
        return totals, parts

    @torch.no_grad()
    def l2_penalty(self) -> Float[Tensor, " reader"]:
        """`l2_penalty` for each reader."""
        none = next(iter(self.weights.values())).new_zeros(len(self), 1)
        return torch.cat([none, *(weight.flatten(1) for weight in self.regularised)], dim=1).square().sum(dim=1)

    def forget_padding(self) -> None:
        """Leave the vectors of padding as they are: under `vmap` an embedding only minds its first reader's."""
        for name, place in self._unlearnt.items():
            grad = self.weights[name].grad
            if grad is not None:
                grad[:, place] = 0.0

    def clip(self, norm: float) -> None:
        """Make each reader's gradient no longer than `norm`."""
        grads = [weight.grad for weight in self.weights.values() if weight.grad is not None]
        lengths = torch.stack([grad.flatten(1).norm(dim=1) for grad in grads]).norm(dim=0)
        scale = (norm / (lengths + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad *= scale.view(-1, *[1] * (grad.dim() - 1))


class Learner(nn.Module):
    """A reader together with its loss, so that weights can be put into both."""

    def __init__(self, reader: ReaderModule) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, batch: Batch) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        reading: Reading = self.reader(batch)
        loss = self.reader.loss(reading, batch)
        return loss.total, loss.parts


def make_joint_step(
    members: Members,
    optimizer: torch.optim.Optimizer,
    batches: TrainingBatches,
    settings: TrainingConfig,
    device: torch.device,
) -> TakeStep:
    """A step of all readers, each on its own questions: `rows` has them one reader after the other.

    Where a reader has fewer than the others, -1 stands for a question: it counts for nothing.
    """

    def take(rows: Int[Tensor, " batch"], shape: Shape, shuffle: Int[Tensor, " batch"]) -> Losses:
        real = rows >= 0
        batch = batches.cut(rows.clamp(min=0), shape, shuffle)
        batch = replace(batch, answer=torch.where(real, batch.answer, -1))
        share = real.view(len(members), -1).float().mean(dim=1)
        with torch.autocast(batch.passage.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bf16"):
            totals, parts = members.losses(batch)
        penalty = settings.l2 * members.l2_penalty() if settings.l2 else torch.zeros_like(totals)
        totals = totals / share + penalty
        totals.sum().backward()
        if settings.l2:
            add_l2_gradient(members.regularised, settings.l2)
        members.forget_padding()
        if settings.clip_norm:
            members.clip(settings.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        scaled = {name: (part / share).detach() for name, part in parts.items()}
        return {"loss": totals.detach(), **scaled, **({"l2": penalty} if settings.l2 else {})}

    if device.type != "cuda":
        return take
    return GraphReplay(take, list(members.weights.values()), batches.size * len(members), device)
