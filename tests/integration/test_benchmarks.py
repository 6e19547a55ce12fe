"""The yardstick must be right, and the benchmark must run. No test asserts a time."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import batch_of, vocabulary, who_has_what

from epireader.readers.epireader import EpiReader, EpiReaderConfig

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.parametrize("training", [True, False])
def test_the_plain_reader_computes_the_same_as_ours(training: bool) -> None:
    from plain import with_weights_of

    torch.manual_seed(0)
    config = EpiReaderConfig(embedding_dim=7, hidden_dim=5, filters=4, reasoner_hidden_dim=3, hypotheses=3)
    ours = EpiReader(config, len(vocabulary())).train(training)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        ours.embedding.weight[0] = 0
    plain = with_weights_of(ours, config).train(training)
    random = np.random.default_rng(1)
    batch = batch_of([who_has_what(random) for _ in range(6)], vocabulary())
    reading = ours(batch)
    log_p, chosen, log_pi = plain(batch)
    torch.testing.assert_close(log_p, reading.first_log_probs)
    assert torch.equal(chosen, reading.evidence.hypotheses)
    torch.testing.assert_close(log_pi, reading.evidence.combined_log_probs)
    if training:  # at other times the answer may be missing from the hypotheses, which the plain loss does not expect
        torch.testing.assert_close(plain.loss(batch), ours.loss(reading, batch).total)


def test_the_benchmark_prints_a_table_and_one_json_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import speed

    monkeypatch.setattr(sys, "argv", ["speed.py", "--quick", "--repeats", "2", "--batch-size", "4", "--device", "cpu"])
    speed.main()
    lines = capsys.readouterr().out.splitlines()
    rates = json.loads(lines[-1])["rates"]
    assert set(rates) == {"training", "evaluation", "first question on a passage", "further question on it"}
    assert all(figures["ours"] > 0 and figures["plain"] > 0 for figures in rates.values())
