"""Which of the question's words stand around a word of the passage: what speaks for it beside its own state.

A mark can also be put on those words before they are read (`Extractor.mark`), but then a passage must be read anew for every
question. Looked at beside the states it need not, and they tell nearly as much.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from epireader.layers.products import many_rows_linear

WIDTH = 21
"""How many words a filter spans: ten on either side."""
SEEN_AS = 16
"""As how many numbers a filter sees each of the question's words."""


class MarksBeside(nn.Module):
    """Filters over the passage in which nothing but the question's words stands."""

    def __init__(self, *, embedding_dim: int, state_dim: int, filters: int) -> None:
        super().__init__()
        self.seen_as = nn.Linear(embedding_dim, SEEN_AS)
        self.filters = nn.Linear(SEEN_AS * WIDTH, filters)
        self.of_state = nn.Linear(state_dim, filters)
        self.of_question = nn.Linear(state_dim, filters, bias=False)

    def forward(
        self,
        passage: Float[Tensor, "batch doc emb"],
        marked: Bool[Tensor, "batch doc"],
        states: Float[Tensor, "batch doc out"],
        question: Float[Tensor, "batch out"],
    ) -> Float[Tensor, "batch doc"]:
        """What to add to the score of each word, given its state and g(Q), which say how much each filter counts."""
        seen = pad(of_many(self.seen_as, passage) * marked[..., None], (0, 0, WIDTH // 2, WIDTH // 2))
        near = of_many(self.filters, seen.unfold(1, WIDTH, 1).flatten(2)).relu()
        counts = of_many(self.of_state, states) + self.of_question(question)[:, None]
        more: Tensor = (near * counts).sum(dim=-1)
        return more


def of_many(layer: nn.Linear, words: Float[Tensor, "batch doc in"]) -> Float[Tensor, "batch doc out"]:
    return many_rows_linear(words, layer.weight, layer.bias)
