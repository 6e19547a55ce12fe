"""The Impatient Reader (Hermann et al. 2015, section 3.3): looks at the passage again after every word of the question."""

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
class ImpatientConfig:
    """Sizes of the Impatient Reader."""

    embedding_dim: int = 256
    """The width of a word vector."""
    hidden_dim: int = 128
    """The width of one direction of an LSTM; attention and joint vector are twice as wide."""

    def __post_init__(self) -> None:
        refuse_below_one(self, "model", "embedding_dim", "hidden_dim")


class ImpatientReader(ReaderModule):
    """What it has gathered so far, r, tells it where to look next."""

    def __init__(self, config: ImpatientConfig, words: int) -> None:
        super().__init__()
        width = 2 * config.hidden_dim
        self.embedding = word_embedding(words, config.embedding_dim)
        self.passage_encoder = BiLSTM(config.embedding_dim, config.hidden_dim)
        self.question_encoder = BiLSTM(config.embedding_dim, config.hidden_dim)
        self.word_part = nn.Linear(width, width, bias=False)  # W_dm
        self.gathered_part = nn.Linear(width, width, bias=False)  # W_rm
        self.question_part = nn.Linear(width, width, bias=False)  # W_qm
        self.attention = TanhAttention(width)
        self.nothing_gathered = nn.Parameter(torch.zeros(width))  # r_0, learnt
        self.kept = nn.Linear(width, width, bias=False)  # W_rr
        self.passage_joint = nn.Linear(width, width, bias=False)  # W_rg
        self.question_joint = nn.Linear(width, width, bias=False)  # W_qg
        self.answer = AnswerScores(words, width)

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"]:
        encoded: Encoded = self.passage_encoder(self.embedding(batch.passage), batch.passage_mask)
        return encoded.states  # y_d(t)

    def forward(self, batch: Batch, passage_states: Float[Tensor, "batch doc out"] | None = None) -> Reading:
        states = self.read_passage(batch) if passage_states is None else passage_states
        question = self.question_encoder(self.embedding(batch.question), batch.question_mask)
        gathered, log_attention = self._gather(states, question.states, batch)
        joint = torch.tanh(self.passage_joint(gathered) + self.question_joint(question.final))  # g^IR(d, q)
        log_probs = masked_log_softmax(self.answer(joint, batch.candidates), batch.candidate_mask)  # log p(a | d, q)
        return Reading(log_probs=log_probs, first_log_probs=log_probs, log_attention=log_attention)

    def _gather(
        self, states: Float[Tensor, "batch doc out"], question: Float[Tensor, "batch q out"], batch: Batch
    ) -> tuple[Float[Tensor, "batch out"], Float[Tensor, "batch doc"]]:
        """r(|q|), and the attention after the last word of each question."""
        words, questions = self.word_part(states), self.question_part(question)
        gathered = self.nothing_gathered.expand(len(batch), -1)
        log_attention = torch.zeros_like(batch.passage, dtype=torch.float32)
        for place, asked in enumerate(batch.question_mask.T):  # i; beyond its end, a question changes nothing
            looked = self.attention(words, self.gathered_part(gathered) + questions[:, place], batch.passage_mask)
            following = attended(states, looked) + torch.tanh(self.kept(gathered))  # r(i)
            gathered = torch.where(asked[:, None], following, gathered)
            log_attention = torch.where(asked[:, None], looked, log_attention)
        return gathered, log_attention

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        return Loss(negative_log_likelihood(reading.log_probs, batch.answer))
