"""Grid files."""

from pathlib import Path

import pytest

from epireader.settings import BadSetting
from epireader.training.config import load_config
from epireader.training.grid import GridPoint, load_grid


def grid(tmp_path: Path, text: str) -> list[GridPoint]:
    path = tmp_path / "grid.toml"
    path.write_text(text)
    return load_grid(path)


def test_a_grid_is_every_combination_of_its_values_each_with_its_own_name(tmp_path: Path) -> None:
    points = grid(
        tmp_path, 'preset = "cbt-cn"\n[grid]\n"model.filters" = [16, 32]\n"training.learning_rate" = [1e-3, 1e-5]\n'
    )
    assert [point.name for point in points] == [
        "filters=16,learning_rate=0.001",
        "filters=16,learning_rate=1e-05",
        "filters=32,learning_rate=0.001",
        "filters=32,learning_rate=1e-05",
    ]
    chosen = [(point.config.model.filters, point.config.training.learning_rate) for point in points]
    assert chosen == [(16, 0.001), (16, 0.00001), (32, 0.001), (32, 0.00001)]
    assert all(point.config.model.hypotheses == 5 for point in points)


def test_values_keep_their_kind(tmp_path: Path) -> None:
    points = grid(
        tmp_path,
        'preset = "cbt-cn"\n[grid]\n"vocabulary.lowercase" = [true, false]\n"training.precision" = ["fp32", "bf16"]\n',
    )
    chosen = [(point.config.vocabulary.lowercase, point.config.training.precision) for point in points]
    assert chosen == [(True, "fp32"), (True, "bf16"), (False, "fp32"), (False, "bf16")]
    assert points[0].name == "lowercase=True,precision=fp32"


def test_a_grid_without_axes_is_the_preset_alone(tmp_path: Path) -> None:
    points = grid(tmp_path, 'preset = "cnn"\n[grid]\n')
    assert points == [GridPoint("cnn", load_config("cnn"))]


def test_the_name_of_a_run_is_one_folder_whatever_the_preset_is_called(tmp_path: Path) -> None:
    preset = tmp_path / "my preset.toml"
    preset.write_text('reader = "as-reader"\n')
    (point,) = grid(tmp_path, f'preset = "{preset}"\n[grid]\n')
    assert Path(point.name).name == point.name
    assert " " not in point.name


@pytest.mark.parametrize(
    "text",
    [
        "",
        'preset = "cbt-cn"',
        '[grid]\n"training.seed" = [1]',
        'preset = 5\n[grid]\n"training.seed" = [1]',
        'preset = "cbt-cn"\ngrid = 5',
        'preset = "cbt-cn"\nother = 1\n[grid]\n"training.seed" = [1]',
    ],
)
def test_a_grid_file_that_is_none_is_refused_with_what_it_must_have(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match=r'grid\.toml must have a line preset = "\.\.\." and a table \[grid\]'):
        grid(tmp_path, text)


@pytest.mark.parametrize("values", ["5", "[]", '"a"'])
def test_an_axis_that_is_not_a_list_of_values_is_named(tmp_path: Path, values: str) -> None:
    with pytest.raises(BadSetting, match=r"grid\.toml: training\.seed must be a list of values, got "):
        grid(tmp_path, f'preset = "cbt-cn"\n[grid]\n"training.seed" = {values}')


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ('"training.sed" = [1]', r"there is no setting training\.sed; did you mean training\.seed\?"),
        ('"training.seed" = [1, "a"]', r"training\.seed must be a whole number, got 'a'"),
        ('"training.seed" = [[1]]', r"training\.seed must be a whole number, got \[1\]"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_before_anything_is_trained(
    tmp_path: Path, axis: str, message: str
) -> None:
    with pytest.raises(BadSetting, match=message):
        grid(tmp_path, f'preset = "cbt-cn"\n[grid]\n{axis}')


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"grid\.toml: "):
        grid(tmp_path, "preset =")
