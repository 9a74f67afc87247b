from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from fivesentences.config.reading import read
from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.evaluation.tidy import collect
from fivesentences.paper.context import Context
from fivesentences.paper.figures.drawing import Drawing, write_drawing
from fivesentences.paper.figures.semantic_recall import _draw, looks_of_lines
from fivesentences.paper.text.labels import line_labels
from fivesentences.study.expand import runs_of_scale

FIGURE = "five_sentences/figure3"


@pytest.fixture(scope="module")
def data(everything):
    return everything.drawing(FIGURE).data


def test_every_point_is_numpys_mean_and_spread_over_seeds(everything, data):
    assert len(data) == 5 * 2 * 2 * 5  # losses, directions, styles, m
    frame = collect(everything.numbers(FIGURE), "tiny").query("fraction == 1.0")
    chosen = frame.query("metric == 'SR@5' and loss == 'triplet=all,margin=0.2' and direction == 't2i'")
    lines = data.query("loss == 'all' and direction == 't2i'").set_index(["m", "style"])
    for point, values in chosen.groupby(["m", "style"])["value"]:
        line = lines.loc[point]
        assert line["mean"] == pytest.approx(np.mean(values), abs=1e-12)
        assert line["spread"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)


def test_one_seed_draws_lines_without_a_band(build, make_scale, tmp_path):
    drawing = build(FIGURE, make_scale(seeds=[0]))
    assert drawing.data["spread"].isna().all()
    write_drawing(tmp_path / "f", "T", "C", drawing)


def test_runs_evaluated_at_other_m_are_named(build, scale):
    def lose_the_last_m(frame):
        last = frame["loss"].eq("triplet=hardest,margin=0.2") & frame["seed"].eq(2) & frame["m"].eq(5)
        return frame[~(frame["fraction"].eq(1.0) & last)]

    with pytest.raises(InputError, match=r"seed=2' was evaluated at m = \[1, 2, 3, 4\], others at"):
        build(FIGURE, scale, lose_the_last_m)
    with pytest.raises(InputError, match="has no value of SR@5 i2t"):
        build(FIGURE, scale, lambda frame: frame[frame["metric"] != "SR@5"])


@pytest.mark.parametrize("models", [("vsepp",), ("vsepp", "scan", "vsrn", "cvse", "sgr", "saf")])
def test_a_figure_grows_with_its_lines(data, models, studies, tmp_path):
    # As if the scale trained more models: rows of the same losses for each.
    lines = [
        data.assign(model=model, label=f"{model}, " + data["label"], mean=data["mean"] + 3 * place)
        for place, model in enumerate(models)
    ]
    many = pd.concat(lines, ignore_index=True)
    write_drawing(
        tmp_path / "many", "T", "C", Drawing(many, [], lambda canvas: _draw(canvas, many, studies["five_sentences"]))
    )
    with Image.open(tmp_path / "many.png") as image:
        assert image.height >= (980 if len(models) == 1 else 2000)


def test_every_dataset_that_has_a_role_has_panels_of_its_own(data, studies, tmp_path):
    other = data.assign(role="coco", dataset="coco", mean=data["mean"] / 2)
    both, study = pd.concat([data, other], ignore_index=True), studies["five_sentences"]
    canvas = Figure()
    _draw(canvas, both, study)
    assert [panel.get_title("left").startswith("MS-COCO. ") for panel in canvas.axes] == [False] * 4 + [True] * 2 + [
        False
    ] * 2
    drawn = [[line.get_ydata().tolist() for line in panel.lines] for panel in canvas.axes]
    assert np.allclose(np.array(drawn[:4]), 2 * np.array(drawn[4:]))


def test_lines_are_named_by_what_tells_them_apart(studies, scale):
    study = studies["five_sentences"]
    rows = Context("five_sentences", study, scale).rows(study.exhibit("figure3"))
    assert line_labels(rows[:1], study) == ["hardest negative"]
    assert line_labels(rows[:2], study) == ["hardest negative", "all negatives"]
    assert line_labels([rows[0], replace(rows[0], model="scan")], study) == ["VSE++", "SCAN (both)"]
    four = [replace(row, model=model) for model in ("vsepp", "scan") for row in rows[:2]]
    assert line_labels(four, study)[3] == "SCAN (both), all negatives"
    assert line_labels([rows[0], replace(rows[0], fraction=0.25)], study) == ["100%", "25%"]
    both = line_labels([rows[4], rows[5]], study)
    assert both == ["VSE++ + SAM τ = 10, closest, released", "SGR, hardest negative"]


@pytest.mark.parametrize("lines", [[5], [5, 1, 1, 1, 1, 1, 1], [5] * 6, [1] * 12, [9], [2, 3]])
def test_no_two_lines_look_alike_and_a_model_has_one_colour(lines):
    pairs = [(f"m{model}", f"m{model} l{line}") for model, count in enumerate(lines) for line in range(count)]
    table = pd.DataFrame(pairs, columns=["model", "label"])
    looks = looks_of_lines(pd.concat([table, table]))  # several points per line
    assert len(looks) == len(table) and len({(look % 7, dashes % 7) for look, dashes in looks}) == len(looks)
    if len(lines) > 1:
        assert [look for look, _ in looks] == [int(model[1:]) for model in table["model"]]


def test_the_demo_draws_every_model_that_it_keeps_and_trains_none_for_the_figure(studies, root):
    demo, study = read(Scale, root / "config/demo.yaml"), studies["five_sentences"]
    figure = study.exhibit("figure3")
    kept = [row for row in Context("five_sentences", study, demo).rows(figure) if row.runs]
    assert {row.model for row in kept} == {"vsepp", "sgr", "saf", "scan_t2i", "scan_i2t", "vsrn", "cvse"}
    fewer = [figure.model_copy(update={"rows": figure.rows[:1]}) if one == figure else one for one in study.figures]
    without = studies | {"five_sentences": study.model_copy(update={"figures": fewer})}
    assert runs_of_scale(studies, demo).keys() == runs_of_scale(without, demo).keys()
