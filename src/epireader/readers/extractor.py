"""The Extractor (section 3.2): points at likely answers. On its own it is the Attention Sum Reader (Kadlec et al. 2016)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.attention import candidate_log_probs, pointer_log_attention
from epireader.layers.directions import Encoded
from epireader.layers.embedding import INITIAL_RANGE, look_up, thinned, word_embedding
from epireader.layers.gru import BiGRU
from epireader.readers.fitting import around, mean_log_likelihood, places_to_learn
from epireader.readers.losses import negative_log_likelihood, with_language
from epireader.readers.marking import Alignment, MarksBeside
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one, refuse_negative, refuse_no_share


@dataclass(frozen=True, kw_only=True)
class ExtractorConfig:
    """What a reader's Extractor is told."""

    embedding_dim: int = 256
    """D, the width of a word vector."""
    hidden_dim: int = 128
    """d, the width of one direction of the Extractor's GRUs."""
    dropout: float = 0.0
    """Which share of the entries of the word vectors that its biGRUs read is left out at random in training."""
    marks_question: bool = False
    """Whether words of the passage that stand in the question are marked; it is then read anew for every question."""
    marks_beside: int = 0
    """How many filters look for the question's words around each word of the passage, which is read once for all; 0: none."""
    aligns_question: bool = False
    """Whether each word of the passage is read with those of the question that it is like; it is then read anew, too."""
    asks_at_blank: bool = False
    """Whether it points by what stands around the blank too, and not by the question as a whole alone."""
    initial_range: float = INITIAL_RANGE
    """Word vectors begin between minus this and this."""
    orthogonal: bool = False
    """Whether its GRUs' input matrices begin orthogonal, as the recurrent ones do, and not as Glorot has them."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim")
        refuse_no_share(self, "model", "dropout")
        refuse_negative(self, "model", "marks_beside", "initial_range")

    @property
    def reads_for_question(self) -> bool:
        """Whether a passage is read anew for every question."""
        return self.marks_question or self.aligns_question


class Extractor(nn.Module):
    """Two biGRUs, one over the passage and one over the question, whose states are compared word by word.

    It may be given what the paper's does not have: marks on the words of the passage that stand in the question too, read
    with them or seen beside them; those words of the question that each word of the passage is like; and a look at what
    stands around the blank beside the question as a whole.
    """

    def __init__(self, config: ExtractorConfig) -> None:
        super().__init__()
        words, states = config.embedding_dim, 2 * config.hidden_dim
        self.dropout = config.dropout
        self.passage_encoder = BiGRU(words, config.hidden_dim, orthogonal=config.orthogonal)  # f
        self.question_encoder = BiGRU(words, config.hidden_dim, orthogonal=config.orthogonal)  # g
        self.mark = nn.Parameter(torch.zeros(words)) if config.marks_question else None
        self.beside = (
            MarksBeside(embedding_dim=words, state_dim=states, filters=config.marks_beside)
            if config.marks_beside
            else None
        )
        self.alike = Alignment(words) if config.aligns_question else None
        self.at_blank = nn.Linear(states, states, bias=False) if config.asks_at_blank else None

    def read_passage(
        self,
        passage: Float[Tensor, "batch doc emb"],
        batch: Batch,
        question: Float[Tensor, "batch q emb"] | None = None,
    ) -> Float[Tensor, "batch doc out"]:
        """f(t): a state for every word of the passage; where words are aligned with the question's, those are needed too."""
        if self.alike is not None:
            assert question is not None
            passage = passage + self.alike(passage, question, batch.question_mask)
        vectors = thinned(passage, self.dropout, training=self.training)
        if self.mark is not None:
            vectors = vectors + batch.in_question[..., None] * self.mark
        if self.alike is not None:
            read: Encoded = self.passage_encoder(vectors, batch.passage_mask)
            return read.states
        words = batch.passage
        if self.mark is not None:
            words = torch.where(batch.in_question, -words, words)  # a word with a mark is another
        return self.passage_encoder.read(vectors, words).states

    def read_question(
        self, question: Float[Tensor, "batch q emb"], batch: Batch, question_mask: Bool[Tensor, "batch q"] | None
    ) -> Encoded:
        """g(Q), and a state for every word of the question."""
        asked: Encoded = self.question_encoder(thinned(question, self.dropout, training=self.training), question_mask)
        if self.at_blank is None:
            return asked
        at_blank = self.at_blank(around(asked.states, question_mask, batch.blank[:, None])).squeeze(1)
        return Encoded(asked.states, asked.final + at_blank)

    def sum_up_question(
        self, question: Float[Tensor, "batch q emb"], batch: Batch, question_mask: Bool[Tensor, "batch q"] | None
    ) -> Float[Tensor, "batch out"]:
        """g(Q) alone."""
        if self.at_blank is None:
            return self.question_encoder.final(thinned(question, self.dropout, training=self.training), question_mask)
        return self.read_question(question, batch, question_mask).final

    def point(
        self,
        passage_states: Float[Tensor, "batch doc out"],
        question: Float[Tensor, "batch out"],
        passage_mask: Bool[Tensor, "batch doc"] | None,
        passage: Float[Tensor, "batch doc emb"] | None,
        batch: Batch,
    ) -> Float[Tensor, "batch doc"]:
        """log s: the log-probability that each word of the passage is the answer to a question, given g(Q) (eq. 1).

        The vectors of the passage's words are needed where marks are looked at beside the states.
        """
        if self.beside is None:
            return pointer_log_attention(passage_states, question, passage_mask)
        assert passage is not None
        more = self.beside(passage, batch.in_question, passage_states, question)
        return pointer_log_attention(passage_states, question, passage_mask, more)


@dataclass(frozen=True, kw_only=True)
class AttentionSumConfig(ExtractorConfig):
    """Sizes of the Attention Sum Reader."""

    language_weight: float = 0.0
    """The weight of a loss for knowing words of the question by those around them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_negative(self, "model", "language_weight")


class AttentionSumReader(ReaderModule):
    """The Extractor alone: the candidate that gets the most attention is the answer."""

    def __init__(self, config: AttentionSumConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = word_embedding(words, config.embedding_dim, config.initial_range)
        self.extractor = Extractor(config)
        self.wanted = nn.Linear(2 * config.hidden_dim, config.embedding_dim) if config.language_weight else None

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"] | None:
        if self.config.reads_for_question:
            return None
        return self.extractor.read_passage(self.embedding(batch.passage), batch)

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        learnt = [batch.candidates] if self.training and self.wanted is not None else []
        if passage_states is None or self.config.marks_beside:
            passage, question, *candidates = look_up(self.embedding, batch.passage, batch.question, *learnt)
        else:
            passage, (question, *candidates) = None, look_up(self.embedding, batch.question, *learnt)
        if passage_states is None:
            assert passage is not None
            passage_states = self.extractor.read_passage(passage, batch, question)
        asked = self.extractor.read_question(question, batch, batch.question_mask)
        log_attention = self.extractor.point(passage_states, asked.final, batch.passage_mask, passage, batch)
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
