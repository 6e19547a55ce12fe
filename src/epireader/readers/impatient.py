"""The Impatient Reader (Hermann et al. 2015, section 3.3): looks at the passage again after every word of the question.

All but how it looks is the Attentive Reader's, its settings too.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.directions import Encoded
from epireader.layers.looks import Looker, Sought, look_after_every_word
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
        looker = Looker(self.attention, self.gathered_part, self.kept, self.nothing_gathered)
        words, questions = self.word_part(states), self.question_part(question.states)
        looked = look_after_every_word(
            looker, Sought(states, words, batch.passage_mask, questions, batch.question_mask)
        )
        return looked.gathered, looked.log_attention
