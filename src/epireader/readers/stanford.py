"""The Stanford Attentive Reader (Chen et al. 2016, section 4.2): the Attentive Reader made simpler and stronger.

Its entities are renamed by order of appearance (`vocabulary.rename_entities`), and its word vectors begin as GloVe's
(`epireader train --embeddings`). Unlike Hermann's readers it only considers answers that stand in the passage.
"""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import PAD_ID
from epireader.layers.attention import attended, mentions, pointer_log_attention
from epireader.layers.directions import Encoded
from epireader.layers.embedding import word_embedding
from epireader.layers.gru import BiGRU
from epireader.layers.masking import masked_log_softmax
from epireader.layers.output import AnswerScores
from epireader.readers.losses import negative_log_likelihood
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one, refuse_no_share


@dataclass(frozen=True, kw_only=True)
class StanfordConfig:
    """Sizes of the Stanford Attentive Reader."""

    embedding_dim: int = 100
    """d, the width of a word vector."""
    hidden_dim: int = 128
    """The width of one direction of a GRU (h is both together)."""
    dropout: float = 0.2
    """Which share of the word vectors' entries is left out at random in training."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim")
        refuse_no_share(self, "model", "dropout")


class StanfordReader(ReaderModule):
    """Bilinear attention, and an output vector for every word that may be the answer."""

    def __init__(self, config: StanfordConfig, words: int) -> None:
        super().__init__()
        width = 2 * config.hidden_dim
        self.embedding = word_embedding(words, config.embedding_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.passage_encoder = BiGRU(config.embedding_dim, config.hidden_dim)
        self.question_encoder = BiGRU(config.embedding_dim, config.hidden_dim)
        self.bilinear = nn.Linear(width, width, bias=False)  # W_s, transposed
        self.answer = AnswerScores(words, width)  # W_a

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"]:
        return self._read(self.passage_encoder, batch.passage).states  # p_i

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        states = self.read_passage(batch) if passage_states is None else passage_states
        question = self._read(self.question_encoder, batch.question).final  # q
        log_attention = pointer_log_attention(states, self.bilinear(question), batch.passage_mask)  # log alpha_i
        output = attended(states, log_attention)  # o
        in_passage = mentions(batch.passage, batch.candidates).any(dim=2)
        log_probs = masked_log_softmax(self.answer(output, batch.candidates), batch.candidate_mask & in_passage)
        return Reading(log_probs=log_probs, first_log_probs=log_probs, log_attention=log_attention)

    def _read(self, encoder: nn.Module, words: Int[Tensor, "batch n"]) -> Encoded:
        encoded: Encoded = encoder(self.dropout(self.embedding(words)), words != PAD_ID)
        return encoded

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        return Loss(negative_log_likelihood(reading.log_probs, batch.answer))
