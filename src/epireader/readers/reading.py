"""What every reader takes and gives."""

from dataclasses import dataclass, field
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import Vocabulary
from epireader.layers.convolution import PassageLine


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a second stage made of the hypotheses that the first one proposed."""

    hypotheses: Int[Tensor, "batch hyp"]
    """The candidates that were put to the test, by number."""
    log_probs: Float[Tensor, "batch hyp"]
    """log e, the Reasoner's own view of them."""
    combined_log_probs: Float[Tensor, "batch hyp"]
    """log pi, with the Extractor's view taken in."""
    by_sentence: Float[Tensor, "batch hyp sent"]
    """The score y of each hypothesis after every sentence, without what else may speak for it."""
    fit: Float[Tensor, "batch hyp"] | None = None
    """What is added to the last y for how it fits the blank, if that is asked."""
    again: Float[Tensor, "batch hyp"] | None = None
    """What is added to the last y for what the passage says when it is read again, if it is; 0 for those it is not."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a reader made of a batch."""

    log_probs: Float[Tensor, "batch cand"]
    """Its final word on every candidate; -inf for one it ruled out."""
    first_log_probs: Float[Tensor, "batch cand"]
    """Its view before any reranking (for the EpiReader: the Extractor's); the same as the final one where it has none."""
    log_attention: Float[Tensor, "batch doc"] | None = None
    """Where it looked in the passage, if it points."""
    evidence: Evidence | None = None
    reread_log_probs: Float[Tensor, "batch cand"] | None = None
    """Its view by reading again alone, where it does; -inf for candidates that it did not read again for."""
    sense_log_likelihood: Float[Tensor, " batch"] | None = None
    """The mean log-probability of a word of the question by what its language model expected, while that is learnt."""
    log_likelihood: Float[Tensor, " batch"] | None = None
    """The mean log-probability of a word, of the story or of the question, with the right answer in it, where it is learnt."""


@dataclass(frozen=True)
class Masks:
    """What of a batch is real and what only pads; None where nothing does."""

    passage: Bool[Tensor, "batch doc"] | None = None
    sentences: Bool[Tensor, "batch sent"] | None = None
    question: Bool[Tensor, "batch q"] | None = None
    candidates: Bool[Tensor, "batch cand"] | None = None

    @classmethod
    def of(cls, batch: Batch, line: PassageLine | None) -> "Masks":
        """A batch that is handed over with a line is as large as its passage, and as its question if there is but one."""
        if line is None:
            return cls(batch.passage_mask, batch.sentence_mask, batch.question_mask, batch.candidate_mask)
        if len(batch) > 1:
            return cls(question=batch.question_mask, candidates=batch.candidate_mask)
        return cls()


@dataclass(frozen=True)
class Loss:
    """What training makes small, and what it is made of."""

    total: Float[Tensor, ""]
    parts: dict[str, Tensor] = field(default_factory=dict)

    def with_part(self, name: str, part: Float[Tensor, ""], weight: float = 1.0) -> "Loss":
        """The loss with so much of another added, which is written down whole."""
        return Loss(self.total + weight * part, {**self.parts, name: part.detach()})


class ReaderModule(nn.Module):
    """What a reader must do. It is built from its settings and the number of words in the vocabulary."""

    trains_at_once: ClassVar[bool] = True
    """Whether several of it can be trained at once: whether `torch.func.vmap` knows all it is made of."""

    def introduce(self, vocabulary: Vocabulary) -> None:
        """Tell the reader which words its ids are, if it wants to know. It is told before anything else is asked of it."""
        del vocabulary

    def begin_with(self, ids: Int[Tensor, " found"], vectors: Float[Tensor, "found emb"]) -> None:
        """Take over what is known of these words, whose vectors its own begin with, into other parts that have words."""
        del ids, vectors

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"] | None:
        """What can be made of the passages before the questions are known, to be handed to `forward`; None: nothing.

        It is a state for each word, or one for the whole passage (`batch 1 out`), and does not depend on the padding.
        """
        del batch
        return None

    def lay_out(self, batch: Batch) -> PassageLine | None:
        """What else can be made of the only passage of a batch, to be handed to `forward` as `line`; None: nothing.

        The batch is as large as its passage, and those that it is handed over with are as large as their questions.
        """
        del batch
        return None

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        """Read a batch; with `passage_states`, without reading the passages again."""
        raise NotImplementedError

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        """The mean loss of a batch over its questions; one that cannot be learnt from counts 0."""
        raise NotImplementedError
