"""The Impatient Reader (Hermann et al. 2015, section 3.3): looks at the passage again after every word of the question.

All but how it looks is the Attentive Reader's, its settings too.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.attention import attended
from epireader.layers.directions import Encoded
from epireader.readers.attentive import AttentiveConfig, AttentiveReader


class ImpatientReader(AttentiveReader):
    """What it has gathered so far, r, tells it where to look next."""

    def __init__(self, config: AttentiveConfig, words: int) -> None:
        super().__init__(config, words)
        width = 2 * config.hidden_dim
        self.gathered_part = nn.Linear(width, width, bias=False)  # W_rm
        self.nothing_gathered = nn.Parameter(torch.zeros(width))  # r_0, learnt
        self.kept = nn.Linear(width, width, bias=False)  # W_rr

    def _look(
        self, states: Float[Tensor, "batch doc out"], question: Encoded, batch: Batch
    ) -> tuple[Float[Tensor, "batch out"], Float[Tensor, "batch doc"]]:
        """r(|q|), and the attention after the last word of each question."""
        words, questions = self.word_part(states), self.question_part(question.states)
        gathered = self.nothing_gathered.expand(len(batch), -1)
        log_attention = torch.zeros_like(batch.passage, dtype=torch.float32)
        for place, asked in enumerate(batch.question_mask.T):  # i; beyond its end, a question changes nothing
            looked = self.attention(words, self.gathered_part(gathered) + questions[:, place], batch.passage_mask)
            following = attended(states, looked) + torch.tanh(self.kept(gathered))  # r(i)
            gathered = torch.where(asked[:, None], following, gathered)
            log_attention = torch.where(asked[:, None], looked, log_attention)
        return gathered, log_attention
