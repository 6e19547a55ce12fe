"""Presets and overrides."""

import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from epireader.readers.epireader import EpiReaderConfig
from epireader.readers.extractor import AttentionSumConfig
from epireader.readers.memory import MemoryConfig
from epireader.readers.stanford import StanfordConfig
from epireader.settings import BadSetting
from epireader.training.config import PRESETS, Config, TrainingConfig, VocabularyConfig, load_config, presets

# The paper's Table 1: D, d, K, m, N_F, d_S.
TABLE_1 = {
    "cbt-ne": (300, 128, 5, 3, 16, 32),
    "cbt-cn": (300, 128, 5, 3, 32, 32),
    "cnn": (384, 256, 10, 3, 32, 32),
}
SIZES = ("embedding_dim", "hidden_dim", "hypotheses", "filter_width", "filters", "reasoner_hidden_dim")


@pytest.mark.parametrize("name", TABLE_1)
def test_a_preset_of_the_paper_has_exactly_the_papers_settings(name: str) -> None:
    config = load_config(name)
    assert config.reader == "epireader"
    assert tuple(getattr(config.model, size) for size in SIZES) == TABLE_1[name]
    assert (config.model.reasoner_weight, config.model.margin) == (50.0, 0.04)
    training = config.training
    assert (training.learning_rate, training.batch_size, training.l2, training.patience) == (0.001, 32, 0.001, 2)
    assert training.clip_norm == 0, "the paper clips nothing"
    assert training.shuffle_entities is (name == "cnn")


@pytest.mark.parametrize("name", TABLE_1)
def test_a_preset_of_the_paper_says_its_settings_itself_and_leans_on_no_default(name: str) -> None:
    values = tomllib.loads((PRESETS / f"{name}.toml").read_text())
    assert set(values["model"]) == {*SIZES, "reasoner_weight", "margin"}
    assert set(values["training"]) - {"shuffle_entities"} == {"batch_size", "learning_rate", "l2", "patience"}


def test_every_preset_loads_and_knows_its_reader() -> None:
    assert {"as-reader", *TABLE_1} <= set(presets())
    for name in presets():
        assert isinstance(load_config(name), Config)


def test_the_as_reader_is_taught_as_its_authors_taught_it() -> None:
    config = load_config("as-reader")
    assert config.model == AttentionSumConfig(embedding_dim=256, hidden_dim=128, initial_range=0.1, orthogonal=True)
    training = config.training
    assert (training.learning_rate, training.batch_size, training.patience) == (0.001, 32, 2)
    assert (training.clip_norm, training.l2, training.read_ahead) == (10.0, 0.0, 10)


def test_the_stanford_reader_is_taught_as_its_authors_taught_it() -> None:
    config = load_config("stanford")
    assert config.model == StanfordConfig(embedding_dim=100, hidden_dim=128, dropout=0.2)
    training = config.training
    assert (training.optimizer, training.learning_rate, training.batch_size) == ("sgd", 0.1, 32)
    assert (training.clip_norm, training.l2) == (10.0, 0.0)
    assert (config.vocabulary.max_words, config.vocabulary.rename_entities) == (50_000, True)


@pytest.mark.parametrize("name", ["attentive", "impatient", "deep-lstm", "stanford"])
def test_every_reader_has_a_preset_of_its_name(name: str) -> None:
    assert load_config(name).reader == name


def test_the_readers_of_hill_et_al_have_their_sizes() -> None:
    memory, language_model = load_config("memory"), load_config("language-model")
    assert memory.model == MemoryConfig(embedding_dim=300, window=5)
    assert language_model.model.hidden_dim == 512
    assert language_model.training.clip_norm == 10.0


def test_the_words_of_a_preset_keep_their_case_and_none_is_cut() -> None:
    assert load_config("cbt-cn").vocabulary == VocabularyConfig(min_count=1, max_words=0, strangers=64, lowercase=False)


def test_overrides_win_over_the_preset_and_the_last_one_over_the_first() -> None:
    config = load_config(
        "cbt-cn", ["training.batch_size=64", "model.filters=8", "training.batch_size=16", "vocabulary.lowercase=true"]
    )
    assert (config.training.batch_size, config.model.filters, config.vocabulary.lowercase) == (16, 8, True)
    assert config.model.embedding_dim == 300


def test_an_override_reaches_a_section_the_preset_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('reader = "as-reader"\n')
    assert load_config(str(path), ["training.l2=1"]).training.l2 == 1.0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.batchsize=64", "there is no setting training.batchsize; did you mean training.batch_size?"),
        ("training.batch_size=big", "training.batch_size must be a whole number, got 'big'"),
        ("training.batch_size=true", "training.batch_size must be a whole number, got True"),
        ("training.optimizer=rmsprop", "training.optimizer must be adam or sgd, got 'rmsprop'"),
        ("training.batch_size=0", "training.batch_size must be at least 1, got 0"),
        ("training.precision=fp8", "training.precision must be fp32, tf32 or bf16, got 'fp8'"),
        ("training.learning_rate=0", "training.learning_rate must be above 0 and finite, got 0.0"),
        ("training.learning_rate=nan", "training.learning_rate must be above 0 and finite, got nan"),
        ("training.l2=-1", "training.l2 must be at least 0, got -1.0"),
        ("training.clip_norm=-1", "training.clip_norm must be at least 0, got -1.0"),
        ("training.checkpoint_minutes=nan", "training.checkpoint_minutes must be at least 0, got nan"),
        ("training.max_minutes=nan", "training.max_minutes must be at least 0, got nan"),
        ("training.seed=-1", "training.seed must be at least 0 and below 2**32, got -1"),
        ("training.seed=4294967296", "training.seed must be at least 0 and below 2**32, got 4294967296"),
        ("vocabulary.max_words=-5", "vocabulary.max_words must be at least 0, got -5"),
        ("training.own_questions=-1", "training.own_questions must be at least 0, got -1"),
        ("training.strangers=1.5", "training.strangers is a share and lies between 0 and 1, got 1.5"),
        ("training.strangers=nan", "training.strangers is a share and lies between 0 and 1, got nan"),
        ("model.filter=3", "there is no setting model.filter; did you mean model.filters?"),
        ("model.filters=0", "model.filters must be at least 1, got 0"),
        ("model.dropout=1", "model.dropout must be at least 0 and below 1, got 1.0"),
        ("training.average=1", "training.average must be at least 0 and below 1, got 1.0"),
        ("model.reasoner_weight=-50", "model.reasoner_weight must be at least 0, got -50.0"),
        ("model.margin=-0.04", "model.margin must be at least 0, got -0.04"),
        ("model.language_weight=-1", "model.language_weight must be at least 0, got -1.0"),
        ("model.language_weight=nan", "model.language_weight must be at least 0, got nan"),
        ("model.marks_beside=-1", "model.marks_beside must be at least 0, got -1"),
        ("model.sense_dim=-1", "model.sense_dim must be at least 0, got -1"),
        ("model.sense_words=0", "model.sense_words must be at least 1, got 0"),
        *(
            (
                f"model.reads_again={wrong}",
                f"model.reads_again must be 0, or at least 2, to compare them, and at most model.hypotheses, 5, got {wrong}",
            )
            for wrong in (-1, 1, 6)
        ),
        ("trainig.seed=1", "there is no setting trainig; did you mean training?"),
        ("batch_size=64", "there is no setting batch_size; there are reader, model, vocabulary, training, books"),
        ("reader.x=64", "there is no setting reader.x"),
        ("reader=epireder", "there is no reader 'epireder'; did you mean epireader?"),
        ("reader=5", "reader must be text, got 5"),
        ("model=5", "model is a section of settings, not one of them; got 5"),
        ("training.x.y=5", "there is no setting training.x; did you mean training?"),
    ],
)
def test_an_override_that_does_not_fit_is_refused_in_one_sentence(override: str, message: str) -> None:
    with pytest.raises(BadSetting) as error:
        load_config("cbt-cn", [override])
    assert str(error.value) == message


def test_two_ways_to_say_what_fits_the_blank_are_refused() -> None:
    with pytest.raises(BadSetting, match=r"both say what fits the blank; give fits_blank = false or sense_dim = 0"):
        load_config("cbt-ne", ["model.fits_blank=true", "model.sense_dim=16"])


def test_a_preset_for_another_reader_is_refused_by_name() -> None:
    with pytest.raises(BadSetting) as error:
        load_config("cnn", ["reader=stanford"])
    assert str(error.value) == "preset cnn is for the reader epireader, not stanford; give stanford"
    with pytest.raises(
        BadSetting, match=r"not epireader; give books or cbt-cn or cbt-ne or cnn or few-books or news or small$"
    ):
        load_config("impatient", ["reader=epireader"])
    assert load_config("cnn", ["reader=epireader"]) == load_config("cnn")


def test_a_file_of_settings_is_for_the_reader_it_names_and_for_any_if_it_names_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[training]\nseed = 3\n")
    assert load_config(str(path), ["reader=memory"]).model == MemoryConfig()
    path.write_text('reader = "as-reader"\n')
    with pytest.raises(BadSetting, match=r"mine\.toml is for the reader as-reader, not memory; give memory"):
        load_config(str(path), ["reader=memory"])


def test_a_setting_of_another_reader_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"there is no setting model\.filters"):
        load_config("as-reader", ["model.filters=3"])


def test_an_unknown_preset_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(BadSetting, match=r"there is no preset 'cbt-nn'; did you mean cbt-(ne|cn|cnn)\?"):
        load_config("cbt-nn")


@pytest.mark.parametrize("content", [b"reader =", b"\xff", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(BadSetting, match=r"mine\.toml: "):
        load_config(str(path))


def test_a_config_comes_back_from_the_mapping_it_gives() -> None:
    for name in presets():
        config = load_config(name, ["training.seed=7", "vocabulary.min_count=2"])
        said = {name: part for name, part in asdict(config).items() if part is not None}
        assert Config.from_mapping(said) == config


def test_the_epireader_is_the_reader_where_none_is_named() -> None:
    assert Config.from_mapping({}).model == EpiReaderConfig()
    assert asdict(Config.from_mapping({}).training) == asdict(TrainingConfig())
