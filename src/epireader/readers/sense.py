"""Whether a hypothesis makes sense: a language model reads on from the passage into the question, and back from its end.

Both meet at the blank and say which word they would expect there. It learns from every word of a question, told from all others,
and shares nothing with the rest of the reader: what it knows is how books are written, not how questions are answered. To it all
names are one, since which of them is meant only the passage can say: of those it knew, it would have learnt its books by heart.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID, ENTITY, PAD_ID, Vocabulary
from epireader.layers.directions import Encoded, reordered, reversed_within_length
from epireader.layers.embedding import thinned, vectors_of, word_embedding
from epireader.layers.gru import GRU
from epireader.layers.masking import logsumexp
from epireader.readers.fitting import places_to_learn

CONTEXT = 64
"""How many of the last words of the passage are read before the question."""

STRANGER, UNKNOWN, NAME, FIRST_WORD = 0, 1, 2, 3
"""Its own ids: an answer that the reader does not know, a word that it does not, any name, and the first of its words. The first
is padding's in a text."""


@dataclass(frozen=True, kw_only=True)
class SenseConfig:
    """Sizes of the language model."""

    words: int
    embedding_dim: int
    hidden_dim: int
    dropout: float


class Sense(nn.Module):
    """A GRU over the end of the passage and the question, and one over the question backwards."""

    as_read: Int[Tensor, " words"]
    """The language model's own id for each of the reader's, wherever it stands in a text."""
    as_answer: Int[Tensor, " words"]
    """The same for answers: here a word is a name by its capital alone, and may be a `STRANGER`."""

    def __init__(self, config: SenseConfig, words: int) -> None:
        super().__init__()
        known = FIRST_WORD + min(config.words, words)
        self.known, self.dropout = known, config.dropout
        self.embedding = word_embedding(known, config.embedding_dim)
        self.before = GRU(config.embedding_dim, config.hidden_dim)
        self.after = GRU(config.embedding_dim, config.hidden_dim)
        self.expected = nn.Linear(2 * config.hidden_dim, config.embedding_dim)
        self.common = nn.Parameter(torch.zeros(known))
        """How common each word is."""
        self.trust = nn.Parameter(torch.full((1,), 0.5))
        """How much what it expects counts beside what the passage says."""
        for name in ("as_read", "as_answer"):
            # Not on the meta device, where readers are built that are about to be loaded: these are no weights.
            self.register_buffer(name, torch.full((words,), UNKNOWN, device="cpu"), persistent=False)

    def introduce(self, vocabulary: Vocabulary) -> None:
        """Find out which of its words the reader's are: as many of the most frequent as it has room for."""
        is_name = [word[:1].isupper() or bool(ENTITY.fullmatch(word)) for word in vocabulary.words]
        known = {word: n for n, (word, name) in enumerate(zip(vocabulary.words, is_name, strict=True)) if not name}
        own = {word: FIRST_WORD + rank for rank, word in enumerate(list(known)[: self.known - FIRST_WORD])}
        # At the beginning of a sentence any word has a capital. It is taken for the more frequent of the two.
        plain = [word if known.get(word.lower(), n) >= n else word.lower() for n, word in enumerate(vocabulary.words)]
        answers = [
            NAME if name else own.get(word, UNKNOWN) for word, name in zip(vocabulary.words, is_name, strict=True)
        ]
        texts = [own.get(word, answer) for word, answer in zip(plain, answers, strict=True)]
        strangers = vocabulary.strangers
        device = self.as_read.device
        self.as_read = torch.tensor([PAD_ID, UNKNOWN, *[NAME] * strangers, *texts], device=device)  # mostly names
        self.as_answer = torch.tensor([PAD_ID, UNKNOWN, *[STRANGER] * strangers, *answers], device=device)

    def begin_with(self, ids: Int[Tensor, " found"], vectors: Float[Tensor, "found emb"]) -> None:
        """Let its words begin with the vectors of the reader's, where its own are as wide; names and the rest do not."""
        own = self.as_answer[ids]
        if vectors.shape[1] == self.embedding.embedding_dim:
            self.embedding.weight[own[own >= FIRST_WORD]] = vectors[own >= FIRST_WORD]

    def forward(
        self, batch: Batch, question: Int[Tensor, "batch q"], index: Int[Tensor, "batch place"]
    ) -> Float[Tensor, "batch place emb"]:
        """The vectors of the words expected at those places of the questions."""
        question = self.as_read[question]
        text, context = read_on(self.as_read[batch.passage], question)
        mask = question != PAD_ID
        read = self.embedding(torch.cat([text, question], dim=1))
        behind, ahead = thinned(read, self.dropout, training=self.training).tensor_split([text.shape[1]], dim=1)
        before = self.before(behind, text != PAD_ID).states
        mirror = reversed_within_length(mask)
        after = reordered(self.after(reordered(ahead, mirror), mask).states, mirror) * mask[..., None]
        place = index[..., None].expand(*index.shape, before.shape[2])
        last_read = before.gather(1, place + context[:, None, None] - 1)
        states = torch.cat([last_read, pad(after, (0, 0, 0, 1)).gather(1, place + 1)], dim=-1)
        expected: Tensor = self.expected(thinned(states, self.dropout, training=self.training))
        return expected

    def fit(
        self, expected: Float[Tensor, "batch emb"], hypotheses: Int[Tensor, "batch hyp phrase"]
    ) -> Float[Tensor, "batch hyp"]:
        """How much each hypothesis is expected; of a phrase, the mean of its words.

        A stranger may be a name or a rare word.
        """
        words = self.as_answer[hypotheses]
        rare, name = (self.common[word] + expected @ self.embedding.weight[word] for word in (UNKNOWN, NAME))
        scores = (vectors_of(self.embedding, words) * expected[:, None, None]).sum(dim=-1) + self.common[words]
        scores = torch.where(words == STRANGER, torch.logaddexp(rare, name)[:, None, None], scores)
        mask = hypotheses != PAD_ID
        scores = torch.where(mask, scores, 0.0).sum(dim=2) / mask.sum(dim=2).clamp(min=1)
        return self.trust * scores.detach()  # it learns from words alone

    def at_end(self, passage: Int[Tensor, "1 doc"]) -> Float[Tensor, "1 hid"]:
        """Where it stands at the end of a passage without padding."""
        vectors = self.embedding(self.as_read[passage[:, -CONTEXT:]])
        read: Encoded = self.before(vectors, torch.ones_like(vectors[..., 0], dtype=torch.bool))
        return read.final

    def _at_only_blank(self, batch: Batch, told: Float[Tensor, "1 hid"]) -> Float[Tensor, "1 emb"]:
        """What it expects in the blank of the only question, from where it stands at the end of the passage."""
        vectors = vectors_of(self.embedding, self.as_read[batch.question])
        blank = int(batch.blank)
        before = self.before.read_on(told, vectors[:, :blank])
        after = self.after.read_on(torch.zeros_like(told), vectors[:, blank + 1 :].flip(1))
        expected: Tensor = self.expected(torch.cat([before, after], dim=-1))
        return expected

    def at_blank(
        self, batch: Batch, told: Float[Tensor, "1 hid"] | None = None
    ) -> tuple[Float[Tensor, "batch emb"], Float[Tensor, " batch"] | None]:
        """What it expects in the blanks and, while it learns, the mean log-probability of words of the questions, the right
        answers in them; 0 for a question that it cannot learn from.

        Where it stands at the end of the only passage may be `told` (`at_end`): one question is then read on from there.
        """
        if told is not None and len(batch) == 1:
            return self._at_only_blank(batch, told), None
        if not self.training:
            return self(batch, batch.question, batch.blank[:, None]).squeeze(1), None
        places = places_to_learn(batch)
        question, is_whole = with_answers(batch)
        expected = self(batch, question, places.index)
        words = self.as_read[question].gather(1, places.index)
        # Not gathered from all scores: their gradient would be as large as they are.
        right = (expected * self.embedding(words)).sum(dim=-1) + self.common[words]
        log_probs = right - logsumexp(expected @ self.embedding.weight.T + self.common)
        counted = places.counted & is_whole[:, None]
        mean = torch.where(counted, log_probs, 0.0).sum(dim=1) / counted.sum(dim=1).clamp(min=1)
        return expected[:, 0], mean


def read_on(
    passage: Int[Tensor, "batch doc"], question: Int[Tensor, "batch q"]
) -> tuple[Int[Tensor, "batch text"], Int[Tensor, " batch"]]:
    """The last words of the passages with the questions behind them, and how many words of the passages that are."""
    length = (passage != PAD_ID).sum(dim=1, keepdim=True)
    context = length.clamp(max=CONTEXT)
    place = torch.arange(min(CONTEXT, passage.shape[1]) + question.shape[1], device=passage.device)[None]
    asked = place - context
    told = passage.gather(1, (length - context + place).clamp(max=passage.shape[1] - 1))
    follows = question.gather(1, asked.clamp(0, question.shape[1] - 1))
    text = torch.where(asked < 0, told, torch.where(asked < question.shape[1], follows, PAD_ID))
    return text, context.squeeze(1)


def with_answers(batch: Batch) -> tuple[Int[Tensor, "batch q"], Bool[Tensor, " batch"]]:
    """The questions with their right answers in their blanks, and where that is one word: other questions are not whole."""
    number = batch.answer.clamp(min=0)[:, None, None]
    answer = batch.candidates.take_along_dim(number, dim=1)[:, 0]
    is_word = (answer[:, 1:] == PAD_ID).all(dim=1)
    return torch.where(batch.question == BLANK_ID, answer[:, :1], batch.question), batch.answer_mask & is_word
