"""The EpiReader as a careful user of PyTorch would write it in an afternoon: the yardstick of the benchmarks.

`nn.GRU`, `nn.Conv1d`, sentences padded to the longest, every hypothesis convolved by itself, steps launched one by one.
It computes the same as `epireader.readers.EpiReader` with the same weights (a test says so).
"""

import torch
from torch import Tensor, nn

from epireader.data.batches import Batch
from epireader.data.vocabulary import BLANK_ID
from epireader.readers.epireader import EpiReaderConfig


class PlainEpiReader(nn.Module):
    def __init__(self, config: EpiReaderConfig, words: int) -> None:
        super().__init__()
        self.config = config
        emb, hid, filters, width = config.embedding_dim, config.hidden_dim, config.filters, config.filter_width
        self.embedding = nn.Embedding(words, emb, padding_idx=0)
        self.passage_forwards = nn.GRU(emb, hid, batch_first=True)
        self.passage_backwards = nn.GRU(emb, hid, batch_first=True)
        self.question_forwards = nn.GRU(emb, hid, batch_first=True)
        self.question_backwards = nn.GRU(emb, hid, batch_first=True)
        self.sentence_convolution = nn.Conv1d(emb + 2, filters, width, padding=width - 1)
        self.hypothesis_convolution = nn.Conv1d(emb, filters, width, padding=width - 1)
        self.similarity = nn.Parameter(torch.empty(filters, filters))
        self.synthesis = nn.GRU(1 + 2 * filters, config.reasoner_hidden_dim, batch_first=True)
        self.evidence = nn.Linear(config.reasoner_hidden_dim, 1, bias=False)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """log p of all candidates, the numbers of the hypotheses, and their log pi."""
        passage, question = self.embedding(batch.passage), self.embedding(batch.question)
        states, _ = read_both_ways(passage, batch.passage_mask, self.passage_forwards, self.passage_backwards)
        _, whole = read_both_ways(question, batch.question_mask, self.question_forwards, self.question_backwards)
        scores = (states * whole[:, None]).sum(dim=2).masked_fill(~batch.passage_mask, float("-inf"))
        attention = scores.softmax(dim=1)
        mentioned = batch.passage[:, None] == batch.candidates[:, :, :1]
        p = (attention[:, None] * mentioned).sum(dim=2)
        log_p = p.clamp(min=1e-30).log().masked_fill(~batch.candidate_mask, float("-inf"))
        chosen = log_p.topk(min(self.config.hypotheses, log_p.shape[1]), dim=1).indices
        if self.training:
            missed = (chosen != batch.answer[:, None]).all(dim=1)
            chosen[:, -1] = torch.where(missed, batch.answer, chosen[:, -1])
        y = torch.stack([self.weigh(batch, chosen[:, k]) for k in range(chosen.shape[1])], dim=1)
        return log_p, chosen, (y.log_softmax(dim=1) + log_p.gather(1, chosen)).log_softmax(dim=1)

    def weigh(self, batch: Batch, chosen: Tensor) -> Tensor:
        """The evidence y for one hypothesis a question."""
        answer = batch.candidates[torch.arange(len(chosen)), chosen, 0]
        vector = self.embedding(answer)
        sentences = padded_sentences(batch)
        words = self.embedding(sentences)
        asks = (batch.question_mask & (batch.question != BLANK_ID))[:, None, None]
        to_question = torch.einsum("bswe,bqe->bswq", words, self.embedding(batch.question))
        to_question = to_question.masked_fill(~asks, float("-inf")).amax(dim=3)
        to_answer = torch.einsum("bswe,be->bsw", words, vector)
        inputs = torch.cat([words, to_answer[..., None], to_question[..., None]], dim=3) * (sentences != 0)[..., None]
        count, sent, word, channels = inputs.shape
        values = self.sentence_convolution(inputs.view(count * sent, word, channels).transpose(1, 2)).relu()
        read = pool(values, (sentences != 0).sum(dim=2).view(count * sent), self.config.filter_width).view(
            count, sent, -1
        )
        filled = torch.where(batch.question == BLANK_ID, answer[:, None], batch.question)
        values = self.hypothesis_convolution(self.embedding(filled).transpose(1, 2)).relu()
        statement = pool(values, batch.question_mask.sum(dim=1), self.config.filter_width)
        similarity = torch.einsum("bsf,fg,bg->bs", read, self.similarity, statement)
        steps = torch.cat([similarity[..., None], read, statement[:, None].expand(-1, sent, -1)], dim=2)
        states, _ = self.synthesis(steps)
        last = batch.sentence_mask.sum(dim=1) - 1
        return self.evidence(states[torch.arange(count), last])[:, 0]

    def loss(self, batch: Batch) -> Tensor:
        log_p, chosen, log_pi = self(batch)
        extractor = -log_p.gather(1, batch.answer[:, None]).mean()
        right = chosen == batch.answer[:, None]
        pi = log_pi.exp()
        shortfall = (self.config.margin - (pi * right).sum(dim=1, keepdim=True) + pi).relu() * ~right
        return extractor + self.config.reasoner_weight * shortfall.sum(dim=1).mean()


def read_both_ways(words: Tensor, mask: Tensor, forwards: nn.GRU, backwards: nn.GRU) -> tuple[Tensor, Tensor]:
    length = mask.sum(dim=1, keepdim=True)
    place = torch.arange(words.shape[1], device=words.device)
    mirror = torch.where(place < length, length - 1 - place, place)[..., None]
    ahead, _ = forwards(words)
    back, _ = backwards(words.gather(1, mirror.expand(words.shape)))
    rows = torch.arange(len(words), device=words.device)
    final = torch.cat([ahead[rows, length[:, 0] - 1], back[rows, length[:, 0] - 1]], dim=1)
    return torch.cat([ahead, back.gather(1, mirror.expand(back.shape))], dim=2), final


def padded_sentences(batch: Batch) -> Tensor:
    """The sentences of every passage, each padded to the longest of the batch."""
    longest = int(batch.sentence_length.max())
    start = batch.sentence_length.cumsum(dim=1) - batch.sentence_length
    place = torch.arange(longest, device=start.device)
    inside = place < batch.sentence_length[..., None]
    index = torch.where(inside, start[..., None] + place, 0)
    words = batch.passage.gather(1, index.flatten(1)).view(index.shape)
    return words * inside


def pool(values: Tensor, length: Tensor, width: int) -> Tensor:
    """The largest value of each filter over the windows that touch a word."""
    counts = torch.arange(values.shape[2], device=values.device) < (length + width - 1)[:, None]
    return (values * (counts & (length > 0)[:, None])[:, None]).amax(dim=2)


def with_weights_of(reader: nn.Module, config: EpiReaderConfig) -> PlainEpiReader:
    """A plain reader with the weights of an `epireader.readers.EpiReader`."""
    weights = reader.state_dict()
    plain = PlainEpiReader(config, weights["embedding.weight"].shape[0])
    taken = {"embedding.weight": weights["embedding.weight"], "similarity": weights["reasoner.similarity"]}
    for which in ("passage", "question"):
        for way in ("forwards", "backwards"):
            source = f"extractor.{which}_encoder.{way}.recurrence."
            taken |= {f"{which}_{way}.{n.removeprefix(source)}": w for n, w in weights.items() if n.startswith(source)}
    source = "reasoner.synthesis.recurrence."
    taken |= {f"synthesis.{n.removeprefix(source)}": w for n, w in weights.items() if n.startswith(source)}
    taken["evidence.weight"] = weights["reasoner.evidence.weight"]
    for which in ("sentence", "hypothesis"):
        taken[f"{which}_convolution.weight"] = weights[f"reasoner.{which}_filters.weight"].permute(2, 0, 1)
        taken[f"{which}_convolution.bias"] = weights[f"reasoner.{which}_filters.bias"]
    plain.load_state_dict({name: weight.clone() for name, weight in taken.items()})
    return plain
