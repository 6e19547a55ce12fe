"""The Attentive Reader (Hermann et al. 2015, section 3.2): one look at the passage, knowing the whole question."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.layers.attention import TanhAttention, attended
from epireader.layers.directions import Encoded
from epireader.layers.embedding import word_embedding
from epireader.layers.lstm import BiLSTM
from epireader.layers.masking import masked_log_softmax
from epireader.layers.output import AnswerScores
from epireader.readers.losses import negative_log_likelihood
from epireader.readers.reading import Loss, ReaderModule, Reading
from epireader.settings import refuse_below_one


@dataclass(frozen=True, kw_only=True)
class AttentiveConfig:
    """Sizes of the Attentive Reader, and of the Impatient Reader."""

    embedding_dim: int = 256
    """The width of a word vector."""
    hidden_dim: int = 128
    """The width of one direction of an LSTM; attention and joint vector are twice as wide."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim")


class AttentiveReader(ReaderModule):
    """Passage and question are read both ways; the words that matter to the question make up the answer's vector."""

    def __init__(self, config: AttentiveConfig, words: int) -> None:
        super().__init__()
        width = 2 * config.hidden_dim
        self.embedding = word_embedding(words, config.embedding_dim)
        self.passage_encoder = BiLSTM(config.embedding_dim, config.hidden_dim)
        self.question_encoder = BiLSTM(config.embedding_dim, config.hidden_dim)
        self.word_part = nn.Linear(width, width, bias=False)  # W_ym
        self.question_part = nn.Linear(width, width, bias=False)  # W_um
        self.attention = TanhAttention(width)
        self.passage_joint = nn.Linear(width, width, bias=False)  # W_rg
        self.question_joint = nn.Linear(width, width, bias=False)  # W_ug
        self.answer = AnswerScores(words, width)

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"]:
        encoded: Encoded = self.passage_encoder(self.embedding(batch.passage), batch.passage_mask)
        return encoded.states  # y_d(t)

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        states = self.read_passage(batch) if passage_states is None else passage_states
        question: Encoded = self.question_encoder(self.embedding(batch.question), batch.question_mask)
        passage, log_attention = self._look(states, question, batch)  # r
        joint = torch.tanh(self.passage_joint(passage) + self.question_joint(question.final))  # g(d, q)
        log_probs = masked_log_softmax(self.answer(joint, batch.candidates), batch.candidate_mask)  # log p(a | d, q)
        return Reading(log_probs=log_probs, first_log_probs=log_probs, log_attention=log_attention)

    def _look(
        self, states: Float[Tensor, "batch doc out"], question: Encoded, batch: Batch
    ) -> tuple[Float[Tensor, "batch out"], Float[Tensor, "batch doc"]]:
        """What of the passage matters to the question, and the attention each word got."""
        log_attention = self.attention(self.word_part(states), self.question_part(question.final), batch.passage_mask)
        return attended(states, log_attention), log_attention

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        return Loss(negative_log_likelihood(reading.log_probs, batch.answer))
