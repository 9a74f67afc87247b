from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.config import Scale, read
from fivesentences.errors import InputError
from fivesentences.paper.figures.semantic_recall import build_figure, labels_of_lines, read_texts, write_figure
from fivesentences.paper.figures.semantic_recall_drawing import looks_of_lines, spread_apart
from fivesentences.plan.rows import expand_rows, runs_of_scale


@pytest.fixture
def figure(studies, scale, frame):
    return build_figure("five_sentences", "figure3", studies["five_sentences"], scale, frame)


def test_every_point_is_numpys_mean_and_spread_over_seeds(figure, frame):
    assert len(figure.data) == 5 * 2 * 2 * 5  # losses, directions, styles, m
    full = frame[frame["fraction"] == 1.0]
    chosen = full.query("metric == 'SR@5' and loss == 'triplet=all,margin=0.2' and direction == 't2i'")
    for m in range(1, 6):
        for style in ("recall", "vse_recall"):
            values = chosen[(chosen["m"] == m) & (chosen["style"] == style)]["value"]
            line = figure.data.query("loss == 'all' and direction == 't2i' and m == @m and style == @style")
            assert line["mean"].item() == pytest.approx(np.mean(values), abs=1e-12)
            assert line["spread"].item() == pytest.approx(np.std(values, ddof=1), abs=1e-12)


def test_the_files_are_written_whole_and_alike(figure, tmp_path):
    for name in ("a", "b"):
        write_figure(figure, tmp_path / name)
    for suffix in ("png", "pdf", "csv", "json"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        assert image.width >= 1200
        assert len(image.getcolors(maxcolors=1 << 20)) > 50
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), figure.data, check_dtype=False)
    assert read_texts(tmp_path / "a.json") == (figure.title, figure.caption, list(figure.notes))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{n}.{s}" for n in "ab" for s in ("csv", "json", "pdf", "png")
    ]


def test_one_seed_draws_lines_without_a_band(studies, make_scale, frame, tmp_path):
    figure = build_figure("f", "figure3", studies["five_sentences"], make_scale(seeds=[0]), frame)
    assert figure.data["spread"].isna().all()
    write_figure(figure, tmp_path / "f")


def test_a_scale_that_plays_no_role_draws_a_sentence(studies, make_scale, frame, tmp_path):
    figure = build_figure("f", "figure3", studies["five_sentences"], make_scale(roles={}), frame)
    write_figure(figure, tmp_path / "f")
    assert figure.data.empty and (tmp_path / "f.png").stat().st_size > 0


def test_runs_evaluated_at_other_m_are_named(studies, scale, frame):
    full, hardest = frame["fraction"] == 1.0, frame["loss"] == "triplet=hardest,margin=0.2"
    last = full & hardest & (frame["seed"] == 2) & (frame["m"] == 5)
    with pytest.raises(InputError, match=r"seed=2' was evaluated at m = \[1, 2, 3, 4\], others at"):
        build_figure("f", "figure3", studies["five_sentences"], scale, frame[~last])
    with pytest.raises(InputError, match="has no value of SR@5 i2t"):
        build_figure("f", "figure3", studies["five_sentences"], scale, frame[frame["metric"] != "SR@5"])


@pytest.mark.parametrize("models", [("vsepp",), ("vsepp", "scan", "vsrn", "cvse", "sgr", "saf")])
def test_many_models_and_losses_are_told_apart(figure, models, tmp_path):
    # As if the scale trained more models: rows of the same losses for each.
    lines = [
        figure.data.assign(model=model, label=f"{model}, " + figure.data["label"], mean=figure.data["mean"] + 3 * place)
        for place, model in enumerate(models)
    ]
    many = replace(figure, data=pd.concat(lines, ignore_index=True))
    write_figure(many, tmp_path / "many")
    with Image.open(tmp_path / "many.png") as image:
        assert image.height >= (980 if len(models) == 1 else 2000)


def test_lines_are_named_by_what_tells_them_apart(studies, make_scale):
    study = studies["five_sentences"]
    rows = expand_rows(study.rows_of("figure3"), study, make_scale())
    assert labels_of_lines(rows[:1], study) == ["hardest negative"]
    assert labels_of_lines(rows[:2], study) == ["hardest negative", "all negatives"]
    two = [rows[0], replace(rows[0], model="scan")]
    assert labels_of_lines(two, study) == ["VSE++", "SCAN (both)"]
    four = [replace(row, model=model) for model in ("vsepp", "scan") for row in rows[:2]]
    assert labels_of_lines(four, study)[3] == "SCAN (both), all negatives"
    assert labels_of_lines([rows[0], replace(rows[0], fraction=0.25)], study) == ["100%", "25%"]


def test_a_model_and_its_loss_are_one_label(studies, make_scale):
    study = studies["five_sentences"]
    rows = expand_rows(study.rows_of("figure3"), study, make_scale())
    assert labels_of_lines([rows[4], rows[5]], study) == [
        "VSE++ + SAM τ = 10, closest, released",
        "SGR, hardest negative",
    ]


@pytest.mark.parametrize("lines", [[5], [5, 1, 1, 1, 1, 1, 1], [5] * 6, [1] * 12, [9], [2, 3]])
def test_no_two_lines_look_alike_and_a_model_has_one_colour(lines):
    table = pd.DataFrame(
        [
            {"model": f"m{model}", "label": f"m{model} l{line}"}
            for model, count in enumerate(lines)
            for line in range(count)
        ]
    )
    looks = looks_of_lines(pd.concat([table, table]))  # several points a line
    assert len(looks) == len(table) and len({(look % 7, dashes % 7) for look, dashes in looks}) == len(looks)
    if len(lines) > 1:
        assert [look for look, _ in looks] == [int(model[1:]) for model in table["model"]]


def test_the_demo_draws_every_model_that_it_keeps_and_trains_none_for_the_figure(studies, root):
    demo = read(Scale, root / "config/demo.yaml")
    study = studies["five_sentences"]
    kept = [row for row in expand_rows(study.rows_of("figure3"), study, demo) if row.runs]
    assert {row.model for row in kept} == {"vsepp", "sgr", "saf", "scan_t2i", "scan_i2t", "vsrn", "cvse"}
    made = {name: studies[name] for name in demo.studies}
    rows = study.figures["figure3"].model_copy(update={"rows": study.figures["figure3"].rows[:1]})
    without = study.model_copy(update={"figures": study.figures | {"figure3": rows}})
    assert runs_of_scale(made, demo).keys() == runs_of_scale(made | {"five_sentences": without}, demo).keys()


def test_labels_keep_their_order_and_distance():
    draw = np.random.default_rng(0)
    for _ in range(50):
        values = sorted(draw.uniform(0, 10, size=6).tolist())
        places = spread_apart(values, 0.9, 0.0, 10.0)
        assert np.diff(places).min() >= 0.9 - 1e-9
        assert min(places) >= 0 and max(places) <= 10 + 1e-9
    assert spread_apart([1.0, 5.0, 9.0], 0.9, 0.0, 10.0) == pytest.approx([1.0, 5.0, 9.0])
