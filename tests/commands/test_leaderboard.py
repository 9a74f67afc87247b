"""`fivesentences leaderboard`: results of different runs in one table, with the intervals that `evaluate` gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from fivesentences import cli

HEADING = "image_retrieval_recall@1,text_retrieval_recall@1,image_retrieval_recall@5,text_retrieval_recall@5,"
HEADING += "image_retrieval_recall@10,text_retrieval_recall@10,dataset,model,pretrained,task,model_fullname,language\n"
ROWS = [
    "0.1,0.25,0.5,0.75,0.8,1.0,flickr8k,ViT-B-32,openai,zeroshot_retrieval,ViT-B-32 openai,en",
    ",,0.6,0.7,,,wds/flickr8k,ViT-B-16,laion400m_e32,zeroshot_retrieval,ViT-B-16 laion400m_e32,en",
    ",,0.9,0.95,,,flickr30k,ViT-B-32,openai,zeroshot_retrieval,ViT-B-32 openai,en",
    ",,,,,,imagenet1k,ViT-B-32,openai,zeroshot_classification,ViT-B-32 openai,en",
]


@pytest.fixture(scope="module")
def evaluated(small_model, tmp_path_factory):
    """Three models, each evaluated by itself, and clip_benchmark's file."""
    folder = tmp_path_factory.mktemp("evaluated")
    shutil.copytree(small_model, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, given in {
            "sims": "sims.npy --phi cider.npy", "other": "other.npy --phi cider.npy",
            "third": "third.npy --phi cider.npy", "norecall": "sims.npy",
        }.items():  # fmt: skip
            words = f"evaluate {given} --no-asp --per-query {name}.parquet"
            patch.setattr("sys.argv", ["fivesentences", *words.split(), "-q"])
            with pytest.raises(SystemExit, match="0"):
                cli.main()
    (folder / "benchmark.csv").write_text(HEADING + "\n".join(ROWS) + "\n")
    stored = pq.read_table(folder / "sims.parquet")
    pq.write_table(stored.replace_schema_metadata(None), folder / "plain.parquet")
    pq.write_table(stored.slice(1), folder / "cut.parquet")
    return folder


@pytest.fixture
def results(evaluated, folder):
    shutil.copytree(evaluated, folder, dirs_exist_ok=True)


def table(path="out.csv"):
    """Numbers; what names them is text, perhaps empty."""
    found = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return found.fillna(dict.fromkeys(["direction", "phi", "ground_truth", "against"], ""))


def test_values_and_intervals_are_those_of_evaluate(run, results):
    files = [f"{name}={name}.parquet" for name in ("other", "third", "sims")]
    said = run("leaderboard", *files, "--csv", "out.csv")
    assert said.code == 0, said.err
    found = table()
    assert found["model"].drop_duplicates().tolist() == ["sims", "third", "other"]  # by Nsum
    models = [f"{name}={name}.npy" for name in ("other", "third", "sims")]
    run("evaluate", *models, "--phi", "cider.npy", "--no-asp", "--against", "sims", "--csv", "all.csv")
    wanted, keys = table("all.csv"), ["model", "metric", "direction", "phi", "ground_truth"]
    both = found.merge(wanted[wanted["against"] == ""], on=keys, suffixes=("", "_of_evaluate"))
    assert len(both) == len(found) == 27
    np.testing.assert_allclose(both["value"], both["value_of_evaluate"], atol=1e-9)
    tests, tested = (one[one["against"] == "sims"] for one in (wanted, found))
    both = tested.merge(tests, on=keys, suffixes=("", "_of_evaluate"))
    assert len(tested) == len(both) == 6  # two models by Rsum and Nsum, ground truth kept and removed
    for column in ("difference", "low", "high", "p"):
        np.testing.assert_allclose(both[column], both[f"{column}_of_evaluate"], atol=1e-9)


def test_models_that_are_scored_now_equal_those_from_files(run, results):
    run("leaderboard", "sims=sims.parquet", "other=other.parquet", "--csv", "files.csv")
    assert run("leaderboard", "sims.npy", "other.npy", "--phi", "cider.npy", "--csv", "now.csv").code == 0
    assert run("leaderboard", "sims=sims.parquet", "other.npy", "--phi", "cider.npy", "--csv", "both.csv").code == 0
    for name in ("now.csv", "both.csv"):
        pd.testing.assert_frame_equal(
            table(name).drop(columns=["file", "captions_sha256"]),
            table("files.csv").drop(columns=["file", "captions_sha256"]),
        )


def test_results_without_queries_stand_beside_and_are_not_tested(run, results):
    given = ("sims=sims.parquet", "third=third.parquet", "benchmark.csv")
    said = run("leaderboard", *given, "--csv-dataset", "flickr8k", "--csv", "out.csv", "--json", "out.json")
    assert said.code == 0, said.err
    found = table()
    silent = found[~found["tested"].astype(bool)]
    assert set(silent["model"]) == {"ViT-B-32 openai", "ViT-B-16 laion400m_e32"}
    assert silent["low"].isna().all()
    assert "Not tested" in said.out and "does not say which split" in said.out
    of_clip = found[found["model"] == "ViT-B-32 openai"].set_index(["metric", "direction"])["value"]
    # Retrieving images by text is t2i, whatever the column calls it, and fractions become percent.
    assert of_clip["R@1", "t2i"] == pytest.approx(10) and of_clip["R@1", "i2t"] == pytest.approx(25)
    assert of_clip["Rsum", ""] == pytest.approx(340)
    other = found[found["model"] == "ViT-B-16 laion400m_e32"]
    assert set(other["metric"]) == {"R@5"}  # no sum of part of the cut-offs
    assert [row["model"] for row in json.loads(Path("out.json").read_text())["models"]][:2] == ["sims", "third"]


@pytest.mark.slow
def test_the_figure_shows_what_its_table_holds(run, results):
    files = [f"{name}={name}.parquet" for name in ("sims", "third")]
    assert run("leaderboard", *files, "--figure", "fig", "--csv", "out.csv").code == 0
    data, found = table("fig.csv"), table()
    assert len(data) == 4 and Path("fig.pdf").stat().st_size > 1000
    of = found.set_index(["model", "metric", "ground_truth"])["value"]
    for row in data.to_dict("records"):
        wanted = of[row["model"], "Rsum", ""], of[row["model"], "Nsum", row["ground_truth"]]
        assert (row["recall"], row["ncs"]) == wanted
        if row["model"] == "third":  # the bar covers its own mark, and not the reference, from which it differs
            assert row["recall_low"] < row["recall"] < row["recall_high"] < of["sims", "Rsum", ""]
            assert row["ncs_low"] < row["ncs"] < row["ncs_high"] < of["sims", "Nsum", row["ground_truth"]]
        else:
            assert np.isnan(row["ncs_low"])
    first = Path("fig.png").read_bytes()
    run("leaderboard", *files, "--figure", "fig")
    assert Path("fig.png").read_bytes() == first


# --- what is refused ---------------------------------------------------------------------------------------


def test_other_captions_phi_or_sizes_do_not_share_a_table(run, results):
    lines = Path("captions.txt").read_text().splitlines()
    Path("swapped.txt").write_text("".join(f"{line}\n" for line in [*lines[5:], *lines[:5]]))
    run("phi", "cider", "swapped.txt", "-o", "swapped.npy")
    np.save("small.npy", np.load("sims.npy")[:10, :50])
    np.savetxt("owner.txt", np.roll(np.repeat(np.arange(20), 5), 5), fmt="%d")
    for given, wrong in {
        "other.npy --phi cider=swapped.npy": "were scored with other phi called cider",
        "small.npy": "were scored with other galleries",
        "other.npy --image-of-caption owner.txt": "other images of the captions",
    }.items():
        run("evaluate", *given.split(), "--no-asp", "--per-query", "another.parquet")
        said = run("leaderboard", "sims.parquet", "another.parquet")
        assert said.code == 1 and wrong in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sims.parquet sims.parquet", "two models are called 'sims.npy'"),
        ("sims.parquet other.parquet --against nobody", "none of"),
        ("sims.parquet --phi cider.npy", "none is"),
        ("benchmark.csv", "no leaderboard"),
        ("sims.parquet benchmark.csv", "--csv-dataset"),
        ("sims.parquet benchmark.csv --csv-dataset flickr9k", "did you mean 'flickr8k'"),
        ("plain.parquet", "does not say which images and captions"),
        ("cut.parquet", "not those of the others"),
        ("norecall.parquet --figure fig", "nothing to draw"),
    ],
)
def test_what_cannot_be_ranked_is_one_sentence(run, results, given, said):
    found = run("leaderboard", *given.split())
    assert found.code == 1 and said in found.err, found.err
    assert found.err.count("\n") == 1 and "Traceback" not in found.err
