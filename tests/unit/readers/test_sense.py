"""The language model that says which hypothesis it would expect. The equations are held to their twins in test_epireader.py."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference.cases import Case, batch_of_cases
from reference.sense import AS_ANSWERS, IN_TEXTS, NAME, VOCABULARY
from reference.small import STRANGERS, epireader, hard_cases

from epireader.data.vocabulary import Vocabulary
from epireader.readers.epireader import EpiReaderConfig
from epireader.readers.saved import build_model, load_model, model_record, save_weights
from epireader.readers.sense import CONTEXT, FIRST_WORD, STRANGER, UNKNOWN, Sense, SenseConfig, read_on

FIRST = 2 + STRANGERS


def language_model(words: int = 3) -> Sense:
    return Sense(SenseConfig(words=words, embedding_dim=3, hidden_dim=2, dropout=0.0), FIRST + len(VOCABULARY))


def test_names_are_one_word_to_it_and_those_it_has_no_room_for_another() -> None:
    sense = language_model()
    sense.introduce(Vocabulary(VOCABULARY, STRANGERS))
    assert sense.as_read.tolist() == [0, UNKNOWN, *[NAME] * STRANGERS, *IN_TEXTS]
    assert sense.as_answer.tolist() == [0, UNKNOWN, *[STRANGER] * STRANGERS, *AS_ANSWERS]
    assert len(sense.common) == FIRST_WORD + 3


def test_it_has_room_for_no_more_words_than_there_are() -> None:
    sense = language_model(words=1_000)
    sense.introduce(Vocabulary(VOCABULARY, STRANGERS))
    assert int(sense.as_read.max()) < len(sense.common) == FIRST_WORD + FIRST + len(VOCABULARY)


def test_where_no_word_has_a_capital_only_entities_are_names() -> None:
    sense = language_model()
    sense.introduce(Vocabulary(("w0", "@entity3", "w1", "w2", "w3", "w4", "w5", "w6"), STRANGERS))
    assert sense.as_answer[FIRST:].tolist() == [3, NAME, 4, 5, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]


def test_its_words_begin_with_the_vectors_of_the_same_words_and_not_of_names_or_of_those_with_a_capital() -> None:
    vocabulary = Vocabulary(("the", "cup", "The", "Ann", "ran"), STRANGERS)
    sense = Sense(SenseConfig(words=2, embedding_dim=3, hidden_dim=2, dropout=0.0), FIRST + 5)
    sense.introduce(vocabulary)
    before = sense.embedding.weight.detach().clone()
    vectors = torch.arange(1.0, 6.0)[:, None].expand(5, 3)
    with torch.no_grad():
        sense.begin_with(torch.arange(FIRST, FIRST + 5), vectors)
    assert sense.embedding.weight[FIRST_WORD:].tolist() == [[1.0] * 3, [2.0] * 3]
    assert torch.equal(sense.embedding.weight[:FIRST_WORD], before[:FIRST_WORD])


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(3, 9), min_size=1, max_size=CONTEXT + 20),
            st.lists(st.integers(3, 9), min_size=1, max_size=12),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_question_follows_the_last_words_of_its_passage(texts: list[tuple[list[int], list[int]]]) -> None:
    passage, question = (
        torch.nn.utils.rnn.pad_sequence([torch.tensor(text[part]) for text in texts], batch_first=True)
        for part in (0, 1)
    )
    read, context = read_on(passage, question)
    for (told, asked), row, known in zip(texts, read.tolist(), context.tolist(), strict=True):
        expected = told[-CONTEXT:] + asked
        assert row == expected + [0] * (len(row) - len(expected))
        assert known == min(len(told), CONTEXT)


def test_it_cannot_tell_names_apart_but_words() -> None:
    module = epireader(3, sense_dim=3, hypotheses=5)
    anna, entity, word, other = FIRST + 2, FIRST + 6, FIRST, FIRST + 1
    case = Case([[anna, entity, word, other, FIRST + 5]], [word, 1, other], [[anna], [entity], [word], [other]], 0)
    evidence = module(batch_of_cases([case])).evidence
    fit = dict(zip(evidence.hypotheses[0].tolist(), evidence.fit[0].tolist(), strict=True))
    assert fit[0] == fit[1]
    assert len({fit[0], fit[2], fit[3]}) == 3


def test_it_learns_from_words_alone_and_the_rest_of_the_reader_only_how_far_to_trust_it() -> None:
    module = epireader(4, sense_dim=3).train()
    batch = batch_of_cases(hard_cases(4, 6))
    loss = module.loss(module(batch), batch)
    (loss.total - loss.parts["sense"]).backward()  # a part is a number here, it has no gradient
    whole = {name: parameter.grad.clone() for name, parameter in module.named_parameters()}
    module.zero_grad()
    reading = module(batch)
    (-reading.sense_log_likelihood.mean()).backward()
    for name, parameter in module.named_parameters():
        if name == "sense.trust":
            assert whole[name].any()
            assert parameter.grad is None
        elif name.startswith("sense."):
            torch.testing.assert_close(whole[name], parameter.grad)
        else:
            assert parameter.grad is None, f"{name} learns nothing from it"


def test_what_stands_in_the_blank_is_not_read() -> None:
    module = epireader(5, sense_dim=3).eval()
    batch = batch_of_cases(hard_cases(5, 4))
    filled = batch.question.clone()
    filled[batch.question == 1] = FIRST + 3
    place = batch.blank[:, None]
    assert torch.equal(module.sense(batch, batch.question, place), module.sense(batch, filled, place))


@pytest.mark.parametrize("blank", [0, 2, 4])
@pytest.mark.parametrize("length", [1, 7, CONTEXT + 9])
def test_from_the_end_of_the_passage_it_goes_on_to_the_same_words(blank: int, length: int) -> None:
    module = epireader(7, sense_dim=3).eval()
    passage = [FIRST + n * n % 7 for n in range(length)]
    question = [FIRST + n for n in range(5)]
    question[blank] = 1
    batch = batch_of_cases([Case([passage], question, [[word] for word in sorted(set(passage))], 0)])
    with torch.inference_mode():
        line = module.lay_out(batch)
        assert line is not None
        asked = module(batch, module.read_passage(batch), line)
        torch.testing.assert_close(asked.evidence.fit, module(batch).evidence.fit)
        torch.testing.assert_close(asked.log_probs, module(batch).log_probs)


def test_it_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    settings = EpiReaderConfig(embedding_dim=4, hidden_dim=3, sense_dim=3, sense_embedding_dim=3, sense_words=3)
    model = build_model("epireader", settings, Vocabulary(VOCABULARY, STRANGERS))
    (tmp_path / "config.json").write_text(json.dumps(model_record(model)))
    model.vocabulary.save(tmp_path / "vocab.txt")
    save_weights(tmp_path / "model.safetensors", model.module.state_dict(), {})
    batch = batch_of_cases(hard_cases(6, 3))
    model.module.eval()
    with torch.no_grad():
        torch.testing.assert_close(
            load_model(tmp_path).module(batch).log_probs, model.module(batch).log_probs, rtol=0, atol=0
        )
