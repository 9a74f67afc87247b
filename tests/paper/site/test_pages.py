"""The pages of a site: what they show of the tables, figures, claims and runs that were made, and where they lead."""

from __future__ import annotations

import html
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.config.scales import AbsentData
from fivesentences.reproduction.paper.claims.judging import judge_claims
from fivesentences.reproduction.paper.claims.writing import line_of, read_claims, write_claims
from fivesentences.reproduction.paper.manifest import read_manifest
from fivesentences.reproduction.paper.numbers.results import kind_of
from fivesentences.reproduction.paper.site.overview import effects_of, write_overview
from fivesentences.reproduction.paper.site.pictures import Picture, read_examples, read_features_sheet
from fivesentences.reproduction.paper.site.runs import write_runs_page
from fivesentences.reproduction.paper.site.sheets import write_examples, write_features_sheet
from fivesentences.reproduction.paper.site.shell import LETTERS, Site, SitePage, in_few_lines
from fivesentences.reproduction.paper.site.study import SharedNote, shared_notes, site_rows, write_study_page
from fivesentences.reproduction.paper.tables.table import Table
from fivesentences.reproduction.paper.tables.writing import read_texts
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from fivesentences.reproduction.study.exhibits import FigureSpec
from made_up_claims import is_sam, numbers_of

VARIANTS = {"data/a.zip": {"ab" * 32: "squashed"}}
SITE = Site("Tiny", (SitePage("", "Overview", "index.html"), SitePage("Papers", "Five", "five_sentences/index.html")))
slow = pytest.mark.slow


@pytest.fixture
def folder(written, tmp_path):
    """A copy of what a site shows, for tests that change something."""
    return shutil.copytree(written, tmp_path, dirs_exist_ok=True)


def study_page(scale, studies, folder, name="five_sentences"):
    return write_study_page(SITE, scale, name, studies[name], folder).read_text(encoding="utf-8")


def overview(scale, studies, folder, **given):
    return write_overview(SITE, scale, studies, folder, **given).read_text(encoding="utf-8")


def titles_on(text):
    return [html.unescape(title) for title in re.findall(r"<h3 id=[^>]*>(.*?)<a class=.permalink", text)]


def test_a_note_of_several_tables_stands_once_and_says_of_which():
    notes = {"table1": ["a", "b", "c", "c"], "table2": ["b", "a"], "figure1": ["a", "d"], "figure2": []}
    assert shared_notes(notes) == [SharedNote("a"), SharedNote("b", ("table1", "table2"))]


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [
        ([20, 20, 20, 20], [0, 1, 2]),
        ([2 * LETTERS, 20, 20], [0, 1]),
        ([3 * LETTERS + 1, 20], [1]),  # too long: folded, and the next one is shown
        ([], []),
    ],
)
def test_three_lines_of_notes_are_shown_and_the_others_folded(lengths, shown):
    notes = [f"{number}" + "x" * (length - 1) for number, length in enumerate(lengths)]
    found, folded = in_few_lines(notes)
    assert found == [notes[number] for number in shown] and sorted([*found, *folded]) == notes


@slow
@pytest.mark.parametrize("name", ["five_sentences", "sched_sam", "metric_agreement"])
def test_the_page_of_a_study_shows_its_tables_figures_and_notes_in_its_order_and_asks_for_nothing_outside(
    studies, scale, folder, name
):
    text, made = study_page(scale, studies, folder, name), studies[name].made_at(scale)
    figures = [one for one in made if isinstance(one, FigureSpec)]
    tables = [one for one in made if not isinstance(one, FigureSpec)]
    full = [one for one in tables if Table.read(folder / name / f"{one.name}.json").groups]
    shown = [one for one in figures if not pd.read_csv(folder / name / f"{one.name}.csv").empty] + full
    assert titles_on(text) == [exhibit.title for exhibit in shown] and shown
    left_out = html.unescape(text).partition('id="empty"')[2].partition("</p>")[0]
    assert all((one.title in left_out) == (one not in shown) for one in made)
    for one in shown:
        assert f'id="{one.name}"' in text
        for note in read_texts(folder / name / f"{one.name}.json")[2]:
            assert len(re.findall(rf"<li>{re.escape(note)}\s*(?:<|$)", html.unescape(text))) == 1, note
    sources = re.findall(r'src="([^"]*)', text)
    assert sources == [f"{figure.name}.svg" for figure in figures if figure in shown]
    assert not re.search(r"@import|url\(|<link|<script [^>]*src", text)


def finding(table: str, **asked: str) -> Finding:
    """A finding whose numbers are of one table."""
    values = {"one": asked | {"show": "{mean:.1f} [{seeds:.0f}, 9.0]"}, "seeds": asked | {"show": "{seeds:.0f}"}}
    return Finding(
        kicker="{seeds} seeds",
        headline="It is {one}.",
        lead="A lead",
        tiles=[{"value": "one", "text": "of {seeds}", "bad": True}],
        figure="five_sentences/figure3",
        not_shown=["Anything <else>"],
        values={table: values},
    )


@slow
def test_the_first_page_opens_with_the_finding_filled_from_its_table(studies, scale, folder):
    line = pd.read_csv(folder / "five_sentences/table3.csv").query("metric == 'Rsum' and row == 'ours'").iloc[0]
    asked = {key: str(line[key]) for key in ("model", "loss", "fraction", "metric", "inference")}
    stated = scale.model_copy(update={"finding": finding("five_sentences/table3", row="ours", **asked)})
    number, seeds = f"{line['mean']:.1f}", f"{line['seeds']:.0f}"
    text = overview(stated, studies, folder)
    content = html.unescape(re.sub(r"<[^>]+>", "", text.partition('<p class="kicker">')[2]))
    assert content.startswith(
        f"{seeds} seeds\nIt is {number} [{seeds}, 9.0].\nA lead\n\n{number}of {seeds}95% interval"
    )
    assert "Anything <else>" in content and 'src="five_sentences/figure3.svg"' in text
    assert f"It is {number} [" in study_page(stated, studies, folder)
    without = stated.model_copy(update={"only": ["five_sentences/table3"]})  # the figure is not made
    assert 'class="kicker"' not in overview(without, {"five_sentences": studies["five_sentences"]}, folder)
    lost = scale.model_copy(update={"finding": finding("five_sentences/table3", model="nobody", loss="x")})
    with pytest.raises(InputError, match=r"table3\.csv.*0 lines have .*nobody"):
        overview(lost, studies, folder)


@slow
def test_the_first_page_lists_what_is_left_out_for_want_of_data(studies, scale, folder):
    said = [f"Ask for {name}." for name in ("a", "b", "c", "d")]
    absent = AbsentData(part="dataset", name="mine", how=said)
    text = overview(scale.model_copy(update={"absent_data": [absent]}), studies, folder)
    assert "All of mine is left out: Ask for a. Ask for b. 2 more files are missing." in text
    assert 'id="absent"' in text and 'id="absent"' not in overview(scale, studies, folder)


@slow
def test_a_cell_holds_our_number_the_published_one_and_the_difference_where_both_may_be_compared(written):
    tables = [Table.read(path) for path in sorted(written.glob("five_sentences/table*.json"))]
    table, group, row = next(
        (table, group, row)
        for table in tables
        for group in table.groups
        for row in group.rows
        if row.kind == "ours" and any(cell.published for cell in row.cells)
    )
    index = next(place for place, cell in enumerate(row.cells) if cell.published)
    cell = replace(row.cells[index], value=20.26, published=18.0, difference=2.26)
    worse = replace(cell, value=15.0, difference=-3.0)
    other = {"better": "worse", "worse": "better"}
    for changed, sense, sign in ((cell, "better", "+2.3"), (worse, "worse", "\N{MINUS SIGN}3.0")):
        cells = (*row.cells[:index], changed, *row.cells[index + 1 :])
        made = replace(group, rows=(replace(row, cells=cells, same_data=True),))
        for better, wanted in (("higher", sense), ("lower", other[sense])):
            columns = tuple(replace(one, better=better, decimals=1) for one in table.columns)
            (shown,) = site_rows(replace(table, columns=columns), made)
            found = shown["cells"][index]
            assert (found["published"], found["difference"], found["sense"]) == ("18.0", sign, wanted)
            assert float(found["sort"]) == changed.value
    (plain,) = site_rows(table, replace(group, rows=(row,)))
    assert plain["cells"][index]["difference"] == plain["cells"][index]["sense"] == ""


@slow
def test_what_a_scale_does_not_make_is_not_on_its_pages(studies, make_scale, folder, scale):
    few, study = make_scale(only=["table3", "judged"]), studies["five_sentences"]
    text = study_page(few, studies, folder)
    assert titles_on(text) == [study.exhibit(name).title for name in ("judged", "table3")]
    assert studies["knn_margin"].paper not in overview(few, {"five_sentences": study}, folder)
    without = study_page(make_scale(only=["phi_histogram"]), studies, folder)
    assert ["The published value" in one for one in (text, without)] == [True, False]
    (folder / "knn_margin" / "table1.json").unlink()
    with pytest.raises(InputError, match=r"table1\.json"):
        study_page(scale, studies, folder, "knn_margin")


@slow
def test_a_scale_of_captions_alone_has_pages(studies, make_up, judged_by, tmp_path):
    scale = judged_by("cxc", only=["judged", "phi_histogram"])
    for name in make_up(scale).plan.exhibits:
        make_up(scale).write(name, tmp_path / name)
    assert len(titles_on(study_page(scale, studies, tmp_path))) == 2
    text = overview(scale, {"five_sentences": studies["five_sentences"]}, tmp_path)
    assert 'id="findings"' not in text and 'class="effects"' not in text


@slow
def test_the_overview_says_what_was_found_in_numbers_of_the_claims(scale, studies, site, folder, planned, make_scale):
    plan = planned(make_scale())
    found = judge_claims(plan, "tiny", numbers_of(plan, lambda run: 40.0 if is_sam(run) else 0.0, wild=1))
    write_claims(found, plan.scale, site, folder / "claims" / "claims")
    claims = read_claims(folder / "claims" / "claims.json")
    text = html.unescape(overview(scale, studies, folder, claims=claims["claims"]))
    main = [claim for claim in claims["claims"] if claim.get("main")]
    listed = re.findall(r'<li><a href="claims/claims.html#([^"]+)"', text)
    assert sorted(listed) == sorted(line_of(claim)["name"] for claim in main) and len(main) >= 5
    recall = next(claim for claim in main if claim["name"] == "sam_recall_10")
    assert recall["verdict"] == "holds"
    values = [cell["effect"]["value"] for cell in recall["cells"]]
    assert f"Here: {min(values):+.1f} to {max(values):+.1f} in {len(values)} settings" in text
    shown = effects_of(claims["claims"])
    assert shown is not None and len(shown["lines"]) >= 2
    assert all(0 <= line["start"] <= line["at"] <= line["end"] <= 100 for line in shown["lines"])
    # Without a finding, the numbers of its own models come first and the claims are folded.
    name, first = next((name, study) for name, study in studies.items() if study.made_at(scale))
    runs = next(one for one in first.made_at(scale) if one.kind == "runs")
    table = Table.read(folder / name / f"{runs.name}.json")
    own = text.index(table.lines(table.groups[0].rows[0])[0].cells[0], text.index(f'id="{runs.name}"'))
    assert (
        own
        < text.index('<details class="more"><summary>Claims')
        < text.index(f"claims/claims.html#{line_of(recall)['name']}")
    )


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_a_page_names_its_pictures_from_its_folder_and_one_that_is_missing_is_named(scale, tmp_path):
    (tmp_path / "a part").mkdir()
    Image.new("RGB", (20, 10), "red").save(tmp_path / "a part" / "sheet.png")
    shown = Picture(tmp_path / "a part" / "sheet.png", "What <scenes> looks like", "8 of 200.", name="sheet")
    text = overview(scale, {}, tmp_path, pictures=[shown])
    assert re.findall(r'src="([^"]*)', text) == ["a%20part/sheet.png"]
    assert "What &lt;scenes&gt; looks like" in text and "8 of 200." in text
    with pytest.raises(InputError, match=r"picture\.svg"):
        overview(scale, {}, tmp_path, pictures=[Picture(tmp_path / "picture.svg", "x", "")])


@pytest.fixture
def scenes(everything):
    return everything.corpus, everything.contexts["five_sentences/figure1"].photographs["scenes"]


def test_examples_are_a_sheet_of_photographs_spread_over_the_images(scenes, tmp_path):
    write_examples(*scenes, tmp_path / "scenes.json")
    shown = read_examples(tmp_path / "scenes.json")
    assert shown.caption == "8 of the 12 test images of scenes, each with its captions."
    with Image.open(shown.path) as image:
        assert image.width >= 1200 and len(image.getcolors(maxcolors=1 << 20)) > 50


def test_features_are_shown_by_images_that_they_put_beside_each_other(scenes, tmp_path):
    images = scenes[0].images[["image_id", "filename"]]
    vectors = np.random.default_rng(0).normal(size=(len(images) + 1, 8)).astype(np.float32)
    vectors[5] = vectors[0] + 0.01  # as near as can be
    vectors[-1] = vectors[0]  # but of another split
    other = pd.DataFrame({"image_id": ["elsewhere"], "filename": ["elsewhere.png"]})
    np.save(tmp_path / "net-global.npy", vectors)
    pd.concat([images, other], ignore_index=True).to_parquet(tmp_path / "net-global.images.parquet")
    write_features_sheet(*scenes, tmp_path / "net-global.npy", tmp_path / "shown.json")
    shown = read_features_sheet(tmp_path / "shown.json")
    assert shown.title == "What net-global holds near each other" and shown.path.stat().st_size > 1000
    assert shown.caption == "4 of the 12 test images of scenes, each beside its nearest others."
    data = pd.read_csv(tmp_path / "shown.csv")
    of_first = data[data["query"] == images["image_id"].iloc[0]]
    assert of_first["image_id"].iloc[1] == images["image_id"].iloc[5]
    assert "elsewhere" not in set(data["image_id"])


def test_features_of_a_detector_are_shown_by_their_boxes(scenes, tmp_path):
    images = scenes[0].images
    np.save(tmp_path / "net-regions2.npy", np.random.default_rng(0).random((len(images), 2, 4), dtype=np.float32))
    images[["image_id", "filename"]].to_parquet(tmp_path / "net-regions2.images.parquet")
    boxes = {"x1": 1.0, "y1": 2.0, "x2": [20.0, 40.0] * len(images), "y2": 30.0, "score": [0.9, 0.4] * len(images)}
    table = pd.DataFrame({"image_id": images["image_id"].repeat(2).to_numpy()} | boxes)
    table.astype(dict.fromkeys(boxes, np.float32)).to_parquet(tmp_path / "net-regions2.regions.parquet")
    write_features_sheet(*scenes, tmp_path / "net-regions2.npy", tmp_path / "shown.json")
    assert read_features_sheet(tmp_path / "shown.json").title == "What net-regions2 looks at"
    assert len(pd.read_csv(tmp_path / "shown.csv")) == 8


# --- runs -------------------------------------------------------------------------------------------------------------


@slow
def test_the_page_of_runs_has_every_setting_with_its_means_and_every_run_as_csv(
    site, files_of_runs, everything, tmp_path
):
    page, plan = write_runs_page(site, **files_of_runs, folder=tmp_path), everything.plan
    runs = pd.read_csv(page.with_name("runs.csv"))
    assert set(runs["run"]) == {*plan.runs, *plan.ensembles, *plan.subspaces.runs}
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'<tr id="([^"]+)"', text) == list(dict.fromkeys(map(kind_of, runs["run"])))
    kind = "scenes/vsepp/triplet=hardest,margin=0.2/fraction=0.1"
    of_kind = runs[runs["run"].map(kind_of).eq(kind)]
    (line,) = re.findall(rf'<tr id="{re.escape(kind)}".*?</tr>', text)
    assert len(of_kind) == 3 and line.endswith(">3</td></tr>") and f">{of_kind['Rsum'].mean():.1f}</td>" in line
    tidy, run = pd.read_parquet(files_of_runs["tidy"][0]), f"{kind}/seed=1"
    asked = "run == @run and metric == 'N@1' and direction == 'i2t' and inference == 'naive' and formula == 'released'"
    wanted = tidy.query(f"{asked} and ground_truth == 'removed' and phi == 'cider'")["value"].item()
    assert runs.set_index("run").loc[run, "NCS@1 i2t"] == pytest.approx(wanted, rel=1e-5)
    selections = runs.dropna(subset="mAP").groupby("run")["selection"].agg(frozenset)
    assert set(selections) == {frozenset({"last"}), frozenset({"map", "loss", "last"})}


@pytest.mark.parametrize(
    ("here", "inputs", "said"),
    [
        ("ab" * 32, None, True),  # what is read now
        ("cd" * 32, None, False),
        (None, None, False),
        (None, {"data/a.zip": "ab" * 32}, True),  # what kept numbers were made of, wherever they are redrawn
        ("cd" * 32, {"data/a.zip": "ab" * 32}, True),
        ("ab" * 32, {"data/a.zip": "cd" * 32}, False),
    ],
)
def test_every_page_says_which_copy_of_the_data_its_numbers_are_of(tmp_path, monkeypatch, here, inputs, said):
    monkeypatch.chdir(tmp_path)
    if here:
        Path("data").mkdir()
        Path("data/a.zip.sha256").write_text(f"# from a mirror\n{here}  a.zip\n")
    planned = {"title": "Tiny", "pages": [], "variants": VARIANTS}
    text = Site.of(planned, inputs).render("shell.html", "runs/index.html")
    assert ("data/a.zip, squashed (SHA-256 abababab" in text) == said


def test_a_flickr8k_scale_knows_the_copy_that_the_kept_numbers_are_of():
    config = Path(__file__).parents[3] / "config"
    plan = plan_of(scale_of(read_yaml(config / "flickr8k_evidence.yaml"), config / "flickr8k_evidence.yaml"), config)
    manifest = read_manifest(config.parent / "results/paper/flickr8k_evidence/manifest.json")
    ((path, known),) = plan.report.site("flickr8k_evidence")["variants"].items()
    assert manifest["inputs"][path] in known
