"""The Attention Sum Reader as public PyTorch versions have it: one bidirectional `nn.GRU` over packed sequences.

It computes the same as `epireader.readers.extractor.AttentionSumReader` with the same weights (a test says so).
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from epireader.data.batches import Batch
from epireader.readers.extractor import AttentionSumConfig


class PackedAttentionSumReader(nn.Module):
    def __init__(self, config: AttentionSumConfig, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, config.embedding_dim, padding_idx=0)
        self.passage = nn.GRU(config.embedding_dim, config.hidden_dim, batch_first=True, bidirectional=True)
        self.question = nn.GRU(config.embedding_dim, config.hidden_dim, batch_first=True, bidirectional=True)

    def forward(self, batch: Batch) -> Tensor:
        """log p of all candidates."""
        states, _ = read_packed(self.passage, self.embedding(batch.passage), batch.passage_mask)
        _, whole = read_packed(self.question, self.embedding(batch.question), batch.question_mask)
        scores = torch.bmm(states, whole[:, :, None])[..., 0].masked_fill(~batch.passage_mask, float("-inf"))
        attention = scores.softmax(dim=1)
        mentioned = batch.passage[:, None] == batch.candidates[:, :, :1]
        p = (attention[:, None] * mentioned).sum(dim=2)
        return p.clamp(min=1e-30).log().masked_fill(~batch.candidate_mask, float("-inf"))

    def loss(self, batch: Batch) -> Tensor:
        return -self(batch).gather(1, batch.answer[:, None]).mean()


def read_packed(gru: nn.GRU, words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    packed = pack_padded_sequence(words, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
    states, final = gru(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=words.shape[1])[0], torch.cat([*final], dim=1)


def packed_with_weights_of(reader: nn.Module, config: AttentionSumConfig) -> PackedAttentionSumReader:
    """A packed reader with the weights of an `AttentionSumReader`."""
    weights = reader.state_dict()
    packed = PackedAttentionSumReader(config, weights["embedding.weight"].shape[0])
    taken = {"embedding.weight": weights["embedding.weight"]}
    for which in ("passage", "question"):
        for way, ending in (("forwards", ""), ("backwards", "_reverse")):
            source = f"extractor.{which}_encoder.{way}.recurrence."
            own = {name.removeprefix(source): weight for name, weight in weights.items() if name.startswith(source)}
            taken |= {f"{which}.{name}{ending}": weight for name, weight in own.items()}
    packed.load_state_dict({name: weight.clone() for name, weight in taken.items()})
    return packed
