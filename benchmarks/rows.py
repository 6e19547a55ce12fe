"""What the benchmark measures: each function gives some rows of its table."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from packed import packed_with_weights_of
from plain import PlainEpiReader, with_weights_of
from sample import as_text, cutting, fresh_model, rival_step, whole_batch
from timing import Clock, Row
from torch import nn

from epireader.answer import Asked, Reader
from epireader.data.corpus import Corpus
from epireader.data.example import Example
from epireader.layers.gru import BiGRU
from epireader.readers.saved import Model
from epireader.training.batches import TrainingBatches
from epireader.training.config import Config
from epireader.training.members import Members, make_joint_step
from epireader.training.optimizer import make_optimizer
from epireader.training.processes import Processes
from epireader.training.step import make_step

Rows = dict[str, Row]


def rival_of(model: Model) -> tuple[str, nn.Module]:
    device = next(model.module.parameters()).device
    if model.reader == "epireader":
        return "plain", with_weights_of(model.module, model.settings).to(device)
    return "packed", packed_with_weights_of(model.module, model.settings).to(device)


def training_row(config: Config, corpus: Corpus, clock: Clock, *, steps: int = 1) -> Row:
    """Steps with everything that belongs to one: cutting the batch, both passes, the optimizer."""
    size, device = config.training.batch_size, clock.device
    model, processes = fresh_model(config, corpus, device), Processes(0, 1, device)
    name, rival = rival_of(model)
    half = config.training.precision == "bf16"
    theirs = rival_step(rival, cutting(corpus.questions("train"), model, device), half=half)
    batches = TrainingBatches(corpus, model.vocabulary, config.training, processes)
    optimizer = make_optimizer(model.module.parameters(), 1e-3)
    ours = make_step(model, model.module.train(), optimizer, batches, config.training, processes)
    plan = [np.arange(size * n, size * (n + 1)) for n in range(steps)]
    return clock.compare(
        lambda: [theirs(rows) for rows in plan], lambda: [ours(rows, 0) for rows in plan], size * steps, name
    )


def evaluation_row(model: Model, rival: tuple[str, nn.Module], examples: list[Example], clock: Clock) -> Row:
    """A batch that has been cut, read forwards."""
    batch = whole_batch(examples, model, clock.device)
    name, module = rival
    module.eval()
    model.module.eval()
    with torch.inference_mode():
        return clock.compare(lambda: module(batch), lambda: model.module(batch), len(examples), name)


def answer_rows(model: Model, plain: PlainEpiReader, examples: list[Example], clock: Clock) -> Rows:
    """From text to answers: passages nobody has read, and a further question on one that has been."""
    reader = Reader([model], str(clock.device))
    plain.eval()
    texts = [as_text(example) for example in examples]
    free = [(text, Asked(asked.question)) for text, asked in texts]

    def theirs(questions: Sequence[tuple[list[str], Asked]]) -> Callable[[], object]:
        return lambda: plain_answers(plain, reader, model, questions)

    def ours(questions: Sequence[tuple[list[str], Asked]]) -> Callable[[], object]:
        return lambda: reader.answer_all([(reader.read(text), asked) for text, asked in questions])

    def first() -> object:
        return reader.answer(texts[0][0], texts[0][1].question, texts[0][1].candidates)

    story, another = reader.read(texts[0][0]), texts[-1][1].question
    story.ask(another)
    often = Clock(clock.device, 3 * clock.repeats)
    return {
        "single answers": often.compare(theirs(texts[:1]), first, 1),
        "single, any word": often.compare(theirs(free[:1]), ours(free[:1]), 1),
        f"answers, {len(texts)} at once": clock.compare(theirs(texts), ours(texts), len(texts)),
        "further question": often.compare(first, lambda: story.ask(another, texts[0][1].candidates), 1, "first"),
    }


def plain_answers(
    plain: PlainEpiReader, reader: Reader, model: Model, questions: Sequence[tuple[list[str], Asked]]
) -> np.ndarray:
    """The same from text to probabilities, all questions in one batch."""
    examples = [reader.read(text).example(asked) for text, asked in questions]
    with torch.inference_mode():
        _, _, log_pi = plain(whole_batch(examples, model, reader.device))
    return log_pi.exp().cpu().numpy()


def together_row(config: Config, corpus: Corpus, clock: Clock, count: int) -> Row:
    """Several readers trained in one step, against one: questions a second of all of them."""

    def joint(readers: int) -> Callable[[], object]:
        models = [fresh_model(config, corpus, clock.device, seed) for seed in range(readers)]
        members = Members(models)
        for model in models:
            model.module.train()
        batches = TrainingBatches(corpus, models[0].vocabulary, config.training, Processes(0, 1, clock.device))
        optimizer = make_optimizer(list(members.weights.values()), 1e-3)
        step = make_joint_step(members, optimizer, batches, config.training, clock.device)
        rows = np.arange(config.training.batch_size)
        every = torch.from_numpy(np.tile(rows, readers))
        return lambda: step(every, batches.shape(rows), batches.shuffle(0).expand(len(every)))

    row = clock.compare(joint(1), joint(count), config.training.batch_size, "one reader")
    scaled = {"ours": row.ours * count, "spread": row.spread * count, "ratio": row.ratio * count}
    return Row(rival=row.rival, theirs=row.theirs, theirs_spread=row.theirs_spread, **scaled)


def recurrence_rows(units: int, words: int, clock: Clock, *, batch_size: int = 32, calls: int = 4) -> Rows:
    """A GRU that reads a passage both ways, against torch's: words that follow each other, a second."""
    theirs = nn.GRU(units, units, batch_first=True, bidirectional=True).to(clock.device)
    ours = BiGRU(units, units).to(clock.device)
    vectors = torch.randn(batch_size, words, units, device=clock.device)
    mask = torch.ones(batch_size, words, dtype=torch.bool, device=clock.device)

    def reading(*, learns: bool) -> Row:
        def read(states: Callable[[], torch.Tensor]) -> None:
            with torch.set_grad_enabled(learns):
                for _ in range(calls):  # one is computed while the next is being launched
                    said = states()
                    if learns:
                        said.sum().backward()

        return clock.compare(
            lambda: read(lambda: theirs(vectors)[0]),
            lambda: read(lambda: ours(vectors, mask).states),
            calls * words,
            "torch's",
        )

    name = f"words, GRU of {units}"
    return {name: reading(learns=False), f"{name}, learning": reading(learns=True)}
