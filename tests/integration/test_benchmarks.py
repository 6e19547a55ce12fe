"""The yardstick must be right, and the benchmark must run. No test asserts a time of its own."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import batch_of, vocabulary, who_has_what
from reference.small import roughened

from epireader.readers.epireader import EpiReader, EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig, AttentionSumReader

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


def test_the_packed_attention_sum_reader_computes_the_same_as_ours() -> None:
    from packed import packed_with_weights_of

    torch.manual_seed(0)
    config = AttentionSumConfig(embedding_dim=7, hidden_dim=5)
    ours = roughened(AttentionSumReader(config, len(vocabulary())), seed=2).float()
    packed = packed_with_weights_of(ours, config)
    random = np.random.default_rng(1)
    batch = batch_of([who_has_what(random) for _ in range(6)], vocabulary())
    reading = ours(batch)
    torch.testing.assert_close(packed(batch), reading.log_probs)
    torch.testing.assert_close(packed.loss(batch), ours.loss(reading, batch).total)


def test_the_benchmark_prints_a_table_and_one_json_line_and_nothing_takes_twice_as_long_as_its_rival(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import speed

    arguments = ["--quick", "--repeats", "3", "--batch-size", "4", "--device", "cpu", "--plots", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["speed.py", *arguments])
    speed.main()
    lines = capsys.readouterr().out.splitlines()
    found = json.loads(lines[-1])
    assert {"training", "evaluation, AS Reader", "single answers", "further question"} <= set(found["rates"])
    assert all(row["ratio"] > 0.5 for row in found["rates"].values()), found["rates"]
    assert set(found["growth"]) == {"batch size", "words"}
    assert all(Path(picture).stat().st_size for picture in found["plots"])


def test_a_recurrence_is_measured_alone_reading_and_learning() -> None:
    from rows import recurrence_rows
    from timing import Clock

    rows = recurrence_rows(4, 5, Clock(torch.device("cpu"), 2), batch_size=2, calls=2)
    assert list(rows) == ["words, GRU of 4", "words, GRU of 4, learning"]
    assert all(row.theirs > 0 and row.ours > 0 for row in rows.values())
