"""The Extractor (section 3.2): points at likely answers. On its own it is the Attention Sum Reader (Kadlec et al. 2016)."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.attention import candidate_log_probs, pointer_log_attention
from epireader.layers.directions import Encoded
from epireader.layers.embedding import look_up, word_embedding
from epireader.layers.gru import BiGRU
from epireader.readers.fitting import around, mean_log_likelihood, places_to_learn
from epireader.readers.losses import negative_log_likelihood, with_language
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one, refuse_negative, refuse_no_share


class Extractor(nn.Module):
    """Two biGRUs, one over the passage and one over the question, whose states are compared word by word."""

    def __init__(self, embedding_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.passage_encoder = BiGRU(embedding_dim, hidden_dim)  # f
        self.question_encoder = BiGRU(embedding_dim, hidden_dim)  # g

    def read_passage(self, passage: Float[Tensor, "batch doc emb"], batch: Batch) -> Float[Tensor, "batch doc out"]:
        """f(t): a state for every word of the passage."""
        return self.passage_encoder.read(self._thinned(passage), batch.passage).states

    def read_question(
        self, question: Float[Tensor, "batch q emb"], question_mask: Bool[Tensor, "batch q"] | None
    ) -> Encoded:
        """g(Q), and a state for every word of the question."""
        asked: Encoded = self.question_encoder(self._thinned(question), question_mask)
        return asked

    def sum_up_question(
        self, question: Float[Tensor, "batch q emb"], question_mask: Bool[Tensor, "batch q"] | None
    ) -> Float[Tensor, "batch out"]:
        """g(Q) alone."""
        return self.question_encoder.final(self._thinned(question), question_mask)

    def point(
        self,
        passage_states: Float[Tensor, "batch doc out"],
        question: Float[Tensor, "batch out"],
        passage_mask: Bool[Tensor, "batch doc"] | None,
    ) -> Float[Tensor, "batch doc"]:
        """log s: the log-probability that each word of the passage is the answer to a question, given g(Q) (eq. 1)."""
        return pointer_log_attention(passage_states, question, passage_mask)

    def _thinned(self, words: Float[Tensor, "batch n emb"]) -> Float[Tensor, "batch n emb"]:
        """Word vectors as they are, or in training without a share of their entries."""
        return nn.functional.dropout(words, self.dropout) if self.training and self.dropout else words


@dataclass(frozen=True, kw_only=True)
class AttentionSumConfig:
    """Sizes of the Attention Sum Reader."""

    embedding_dim: int = 256
    """D, the width of a word vector."""
    hidden_dim: int = 128
    """d, the width of one direction of a GRU."""
    dropout: float = 0.0
    """Which share of the word vectors' entries is left out at random in training."""
    language_weight: float = 0.0
    """The weight of a loss for knowing words of the question by those around them."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim")
        refuse_no_share(self, "model", "dropout")
        refuse_negative(self, "model", "language_weight")


class AttentionSumReader(ReaderModule):
    """The Extractor alone: the candidate that gets the most attention is the answer."""

    def __init__(self, config: AttentionSumConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = word_embedding(words, config.embedding_dim)
        self.extractor = Extractor(config.embedding_dim, config.hidden_dim, config.dropout)
        self.wanted = nn.Linear(2 * config.hidden_dim, config.embedding_dim) if config.language_weight else None

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"]:
        return self.extractor.read_passage(self.embedding(batch.passage), batch)

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        learnt = [batch.candidates] if self.training and self.wanted is not None else []
        if passage_states is None:
            passage, question, *candidates = look_up(self.embedding, batch.passage, batch.question, *learnt)
            passage_states = self.extractor.read_passage(passage, batch)
        else:
            question, *candidates = look_up(self.embedding, batch.question, *learnt)
        asked = self.extractor.read_question(question, batch.question_mask)
        log_attention = self.extractor.point(passage_states, asked.final, batch.passage_mask)
        log_probs = candidate_log_probs(log_attention, batch.passage, batch.candidates)
        return Reading(
            log_probs=log_probs,
            first_log_probs=log_probs,
            log_attention=log_attention,
            log_likelihood=self._known(asked, batch, question, *candidates),
        )

    def _known(
        self,
        asked: Encoded,
        batch: Batch,
        question: Float[Tensor, "batch q emb"],
        candidates: Float[Tensor, "batch cand phrase emb"] | None = None,
    ) -> Float[Tensor, " batch"] | None:
        """How well words of the questions are known by those around them, while that is learnt."""
        if self.wanted is None or candidates is None:
            return None
        places = places_to_learn(batch)
        wanted = self.wanted(around(asked.states, batch.question_mask, places.index))
        return mean_log_likelihood(wanted, places, batch, question, candidates, self.embedding.num_embeddings)

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        loss = Loss(negative_log_likelihood(reading.log_probs, batch.answer))
        return with_language(loss, reading.log_likelihood, self.config.language_weight)
