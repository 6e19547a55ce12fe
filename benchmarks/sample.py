"""Random questions in the shapes of the Children's Book Test, and readers with random weights to ask."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from epireader.answer import Asked
from epireader.data.batches import Batch, BatchCutter
from epireader.data.corpus import Corpus, CorpusRecord, open_corpus, write_corpus
from epireader.data.example import BLANK, Example
from epireader.data.questions import Questions, QuestionsBuilder
from epireader.data.statistics import StatisticsCounter
from epireader.readers.saved import Model, build_model
from epireader.training.beginning import choose_vocabulary
from epireader.training.config import Config

DISTINCT_WORDS = 60_000
SENTENCE_WORDS = 22


def random_example(seed: int, sentences: int = 20) -> Example:
    """Sentences of words by Zipf's law, 22 words each or so, and ten candidates."""
    random = np.random.default_rng([seed, sentences])

    def draw(count: int) -> tuple[str, ...]:
        return tuple(f"w{word}" for word in np.minimum(random.zipf(1.3, count), DISTINCT_WORDS))

    passage = tuple(draw(int(random.gamma(4, SENTENCE_WORDS / 4)) + 1) for _ in range(sentences))
    distinct = list(dict.fromkeys(word for sentence in passage for word in sentence))
    candidates = tuple((distinct[n],) for n in random.permutation(len(distinct))[:10])
    return Example(
        sentences=passage, question=(*draw(12), BLANK, *draw(12)), candidates=candidates, answer=candidates[0]
    )


def corpus_in(folder: Path, examples: list[Example]) -> Corpus:
    builder, counter = QuestionsBuilder(), StatisticsCounter()
    for example in examples:
        builder.add(example)
        counter.add(example)
    folder.mkdir()
    record = CorpusRecord(
        made_by="a benchmark", sources=(), options={}, skipped=0, statistics={"train": counter.result()}
    )
    write_corpus(folder, {"train": builder}, record)
    return open_corpus(folder)


def fresh_model(config: Config, corpus: Corpus, device: torch.device, seed: int = 0) -> Model:
    torch.manual_seed(seed)
    model = build_model(config.reader, config.model, choose_vocabulary(corpus, config.vocabulary))
    model.module.to(device)
    return model


def columns_of(examples: list[Example]) -> Questions:
    builder = QuestionsBuilder()
    for example in examples:
        builder.add(example)
    return builder.build()


def cutting(questions: Questions, model: Model, device: torch.device) -> Callable[[np.ndarray], Batch]:
    cutter = BatchCutter(questions, model.vocabulary, device)
    return lambda rows: cutter.cut(torch.from_numpy(rows), cutter.sizes.of(rows))


def whole_batch(examples: list[Example], model: Model, device: torch.device) -> Batch:
    return cutting(columns_of(examples), model, device)(np.arange(len(examples)))


def as_text(example: Example) -> tuple[list[str], Asked]:
    """A passage and a question as somebody would type them."""
    asked = Asked(" ".join(example.question), [" ".join(words) for words in example.candidates])
    return [" ".join(words) for words in example.sentences], asked


def rival_step(rival: nn.Module, cut: Callable[[np.ndarray], Batch], *, half: bool) -> Callable[[np.ndarray], None]:
    """A step of training as one writes it by hand, in half precision or not."""
    optimizer = torch.optim.Adam(rival.parameters(), lr=1e-3)

    def step(rows: np.ndarray) -> None:
        rival.train()
        batch = cut(rows)
        with torch.autocast(batch.passage.device.type, dtype=torch.bfloat16, enabled=half):
            loss = rival.loss(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
