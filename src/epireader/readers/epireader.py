"""The EpiReader (section 3): the Extractor proposes answers, the Reasoner tests them, and both decide."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from epireader.data.batches import Batch
from epireader.data.vocabulary import PAD_ID, Vocabulary
from epireader.layers.attention import candidate_log_probs, known_log_probs
from epireader.layers.convolution import PassageLine
from epireader.layers.embedding import look_up, vectors_of, word_embedding
from epireader.layers.masking import spread_log_probs
from epireader.readers.extractor import Extractor, ExtractorConfig
from epireader.readers.fitting import Places, mean_log_likelihood, places_to_learn
from epireader.readers.hypotheses import choose_hypotheses, of_chosen
from epireader.readers.losses import margin_loss, negative_log_likelihood, with_language
from epireader.readers.reading import Loss, Masks, ReaderModule, Reading
from epireader.readers.reasoner import Reasoner, Vectors, weigh
from epireader.readers.rereading import FirstReading, Rereading
from epireader.readers.sense import Sense, SenseConfig
from epireader.settings import refuse_below_one, refuse_negative

REASONER_LOSSES = ("margin", "likelihood")


@dataclass(frozen=True, kw_only=True)
class EpiReaderConfig(ExtractorConfig):
    """Sizes of the EpiReader (the paper's Table 1) and the weights of its losses."""

    embedding_dim: int = 300
    """D, the width of a word vector."""
    hypotheses: int = 5
    """K, how many answers the Extractor proposes."""
    filter_width: int = 3
    """m, how many words a filter spans."""
    filters: int = 16
    """N_F, how many filters there are."""
    reasoner_hidden_dim: int = 32
    """d_S, the width of the Reasoner's GRU."""
    wide_convolution: bool = True
    """Whether filters reach over the ends of a sentence; otherwise only windows within it count."""
    reasoner_weight: float = 50.0
    """lambda, the weight of the Reasoner's loss."""
    margin: float = 0.04
    """gamma, by how much the right hypothesis must win."""
    reasoner_loss: str = "margin"
    """What the Reasoner's loss is: margin (eq. 6) or likelihood (-log of the right hypothesis's pi)."""
    fits_blank: bool = False
    """Whether a hypothesis is also judged by how well it fits the words around the blank."""
    language_weight: float = 0.0
    """The weight of a loss for knowing words of the question by those around them; what fits the blank is then known so too."""
    sense_dim: int = 0
    """Width of the GRUs of a language model that says which hypothesis it would expect in the blank; 0 for none."""
    sense_embedding_dim: int = 128
    """Width of its word vectors."""
    sense_words: int = 20_000
    """How many words it knows, the most frequent; all names are one to it."""
    reads_again: int = 0
    """For how many of the likeliest hypotheses the passage is read again, each with its mentions marked; 0 for none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reasoner_loss not in REASONER_LOSSES:
            choices = " or ".join(REASONER_LOSSES)
            raise ValueError(f"model.reasoner_loss must be {choices}, got {self.reasoner_loss!r}")
        refuse_below_one(self, "model", "hypotheses", "filter_width", "filters", "reasoner_hidden_dim")
        refuse_negative(self, "model", "reasoner_weight", "margin", "language_weight", "sense_dim")
        if self.reads_again and not 2 <= self.reads_again <= self.hypotheses:
            limits = f"at least 2, to compare them, and at most model.hypotheses, {self.hypotheses}"
            raise ValueError(f"model.reads_again must be 0, or {limits}, got {self.reads_again}")
        refuse_below_one(self, "model", "sense_embedding_dim", "sense_words")
        if self.sense_dim and self.fits_blank:
            raise ValueError(
                "model.fits_blank and model.sense_dim both say what fits the blank; give fits_blank = false or sense_dim = 0"
            )

    @property
    def sense(self) -> SenseConfig:
        """What its language model is told."""
        return SenseConfig(
            words=self.sense_words,
            embedding_dim=self.sense_embedding_dim,
            hidden_dim=self.sense_dim,
            dropout=self.dropout,
        )

    @property
    def looks_at_words(self) -> bool:
        """Whether the words of a passage are needed for every question, even where its states are known."""
        return self.marks_beside > 0 or self.reads_again > 0


@dataclass(frozen=True)
class Asked:
    """What was made of the questions."""

    final: Float[Tensor, "batch out"]
    """g(Q)"""
    states: Float[Tensor, "batch q out"] | None = None
    """One for every word, where somebody asks for them."""
    wanted: Float[Tensor, "batch place emb"] | None = None
    """What the words around some places of the questions, or around the blank, call for, if that is asked."""


class EpiReader(ReaderModule):
    """Extract, hypothesise, test."""

    def __init__(self, config: EpiReaderConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = word_embedding(words, config.embedding_dim, config.initial_range)
        self.extractor = Extractor(config)
        self.reasoner = Reasoner(
            embedding_dim=config.embedding_dim,
            filters=config.filters,
            width=config.filter_width,
            hidden_dim=config.reasoner_hidden_dim,
            wide=config.wide_convolution,
            state_dim=2 * config.hidden_dim if config.fits_blank or config.language_weight else 0,
            fits_blank=config.fits_blank,
            knows_words=config.language_weight > 0,
        )
        self.rereading = Rereading(config) if config.reads_again else None
        self.sense = Sense(config.sense, words) if config.sense_dim else None

    def introduce(self, vocabulary: Vocabulary) -> None:
        if self.sense is not None:
            self.sense.introduce(vocabulary)

    def begin_with(self, ids: Int[Tensor, " found"], vectors: Float[Tensor, "found emb"]) -> None:
        if self.sense is not None:
            self.sense.begin_with(ids, vectors)

    def read_passage(self, batch: Batch) -> Float[Tensor, "batch doc out"] | None:
        return None if self.config.reads_for_question else self._read_passage(batch)

    def _read_passage(
        self,
        batch: Batch,
        passage: Float[Tensor, "batch doc emb"] | None = None,
        question: Float[Tensor, "batch q emb"] | None = None,
    ) -> Float[Tensor, "batch doc out"]:
        passage = self.embedding(batch.passage) if passage is None else passage
        return self.extractor.read_passage(passage, batch, question)

    def lay_out(self, batch: Batch) -> PassageLine | None:
        line = self._lay_out(batch)
        if line is None or self.sense is None:
            return line
        return replace(line, told=self.sense.at_end(batch.passage))

    def _lay_out(self, batch: Batch) -> PassageLine | None:
        if len(batch) > 1 or batch.passage.device.type != "cpu" or torch.is_grad_enabled():
            return None
        return self.reasoner.lay_out(self.embedding, batch)

    def forward(
        self,
        batch: Batch,
        passage_states: Float[Tensor, "batch doc out"] | None = None,
        line: PassageLine | None = None,
    ) -> Reading:
        """Read a batch. While training, the right answer is always among the hypotheses."""
        masks = Masks.of(batch, line)
        line = self._lay_out(batch) if line is None else line
        passage, question, candidates = self._look_up(batch, line)
        states = self._read_passage(batch, passage, question) if passage_states is None else passage_states
        places = places_to_learn(batch) if self.training and self.config.language_weight else None
        asked = self._ask(question, batch, masks.question, places)
        log_attention = self.extractor.point(states, asked.final, masks.passage, passage, batch)
        log_probs = attention_on_candidates(log_attention, batch, masks, line)
        chosen = self._likeliest(self.config.hypotheses, log_probs, batch, masks)
        hypotheses = of_chosen(batch.candidates, chosen)
        fitting = asked.wanted if self.config.fits_blank else None
        words = Vectors(passage, question, self._answers(batch, candidates, chosen), fitting)
        entailment = self.reasoner(words, batch, hypotheses, masks, line)
        reread = sense_log_likelihood = None
        if self.rereading is not None:
            assert passage is not None
            assert asked.states is not None
            few = self._likeliest(self.config.reads_again, log_probs, batch, masks)
            answers = self._answers(batch, candidates, few)
            reread = self.rereading(passage, question, answers, FirstReading(states, asked.states), batch, few)
            entailment = entailment.with_rereading(reread.scores.gather(1, chosen))
        if self.sense is not None:
            expected, sense_log_likelihood = self.sense.at_blank(batch, None if line is None else line.told)
            entailment = entailment.with_fit(self.sense.fit(expected, hypotheses))
        hypothesis_mask = None if masks.candidates is None else hypotheses[:, :, 0] != PAD_ID
        evidence = weigh(entailment, chosen, log_probs.gather(1, chosen), hypothesis_mask)
        return Reading(
            log_probs=spread_log_probs(evidence.combined_log_probs, chosen, log_probs.shape[1]),
            first_log_probs=log_probs,
            log_attention=log_attention,
            evidence=evidence,
            reread_log_probs=None if reread is None else reread.log_probs,
            sense_log_likelihood=sense_log_likelihood,
            log_likelihood=self._known(asked.wanted, places, batch, question, candidates),
        )

    def _look_up(
        self, batch: Batch, line: PassageLine | None
    ) -> tuple[
        Float[Tensor, "batch doc emb"] | None,
        Float[Tensor, "batch q emb"],
        Float[Tensor, "batch cand phrase emb"] | None,
    ]:
        """The vectors of passage, question and candidates. Beside a passage that lies on a line, its own are only looked up
        where they are needed, and those of the candidates when some have been chosen."""
        if line is None:
            passage, question, candidates = look_up(self.embedding, batch.passage, batch.question, batch.candidates)
            return passage, question, candidates
        looked_at = vectors_of(self.embedding, batch.passage) if self.config.looks_at_words else None
        return looked_at, vectors_of(self.embedding, batch.question), None

    def _likeliest(
        self, count: int, log_probs: Float[Tensor, "batch cand"], batch: Batch, masks: Masks
    ) -> Int[Tensor, "batch hyp"]:
        keep = batch.answer if self.training else None
        return choose_hypotheses(log_probs.detach(), masks.candidates, count, keep)

    def _answers(
        self,
        batch: Batch,
        candidates: Float[Tensor, "batch cand phrase emb"] | None,
        chosen: Int[Tensor, "batch hyp"],
    ) -> Float[Tensor, "batch hyp phrase emb"]:
        """The vectors of the candidates that were chosen, which may not have been looked up yet."""
        if candidates is None:
            return vectors_of(self.embedding, of_chosen(batch.candidates, chosen))
        return of_chosen(candidates, chosen)

    def _ask(
        self,
        question: Float[Tensor, "batch q emb"],
        batch: Batch,
        mask: Bool[Tensor, "batch q"] | None,
        places: Places | None,
    ) -> Asked:
        """The questions read, and what the words around those places of them, or around the blank, call for."""
        calls = self.config.fits_blank or places is not None
        if not calls and self.rereading is None:
            return Asked(self.extractor.sum_up_question(question, batch, mask))
        asked = self.extractor.read_question(question, batch, mask)
        wanted = self.reasoner.wanted_at(places, asked.states, batch, mask) if calls else None
        return Asked(asked.final, asked.states, wanted)

    def _known(
        self,
        wanted: Float[Tensor, "batch place emb"] | None,
        places: Places | None,
        batch: Batch,
        question: Float[Tensor, "batch q emb"],
        candidates: Float[Tensor, "batch cand phrase emb"] | None,
    ) -> Float[Tensor, " batch"] | None:
        """How well words of the questions are known by those around them, while that is learnt."""
        if wanted is None or places is None or candidates is None:
            return None
        return mean_log_likelihood(wanted, places, batch, question, candidates, self.embedding.num_embeddings)

    def loss(self, reading: Reading, batch: Batch) -> Loss:
        assert reading.evidence is not None
        chosen = reading.evidence.hypotheses
        extractor = negative_log_likelihood(reading.first_log_probs, batch.answer)
        if self.config.reasoner_loss == "likelihood":
            reasoner = negative_log_likelihood(reading.log_probs, batch.answer)
        else:
            reasoner = margin_loss(
                reading.evidence.combined_log_probs,
                chosen == batch.answer[:, None],
                of_chosen(batch.candidate_mask, chosen),
                self.config.margin,
            )
        total = extractor + self.config.reasoner_weight * reasoner  # L_ER, eq. 7
        loss = Loss(total, {"extractor": extractor.detach(), "reasoner": reasoner.detach()})
        if reading.reread_log_probs is not None:
            again = negative_log_likelihood(reading.reread_log_probs, batch.answer)
            loss = loss.with_part("again", again)
        if reading.sense_log_likelihood is not None:
            loss = loss.with_part("sense", -reading.sense_log_likelihood.mean())
        return with_language(loss, reading.log_likelihood, self.config.language_weight)


def attention_on_candidates(
    log_attention: Float[Tensor, "batch doc"], batch: Batch, masks: Masks, line: PassageLine | None
) -> Float[Tensor, "batch cand"]:
    """log p, by what is known of the passage's words where it lies on a line."""
    if line is not None and masks.passage is None and batch.candidates.shape[2] == 1:
        return known_log_probs(log_attention, line.ids, line.which, batch.candidates)
    return candidate_log_probs(log_attention, batch.passage, batch.candidates)
