"""A trained run's similarity, given as a matrix of others, has the run's numbers; nothing is trained for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fivesentences.corpus import Corpus
from workflow.conftest import jobs, said

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
RUN = "scenes/vsepp/triplet=hardest,margin=0.2/fraction=1/seed=0"
GIVEN = "scenes/theirs,matrix_of_others/as_given/fraction=1/seed=0"
NAIVE = "naive"  # a matrix of others is read as it is
KEY = ["inference", "metric", "direction", "formula", "ground_truth", "m", "style", "phi"]


def test_a_given_matrix_has_the_numbers_of_the_run_that_it_is_from_and_bad_ones_are_named(micro: Path) -> None:
    test = Corpus.read(micro / "results/corpus/scenes.parquet").split("test")
    (micro / "order.txt").write_text("".join(f"{caption}\n" for caption in test.captions))
    similarity = np.load(micro / "results/training" / RUN / "similarity_test.npy")
    np.savetxt(micro / "theirs.csv", similarity.T, delimiter=",", fmt="%.9g")
    rows = [{"exhibit": "table3", "published": "5"}, {"exhibit": "figure3"}]
    matrix = {"name": "theirs", "title": "VSE++", "role": "flickr30k", "similarity": "theirs.csv", "rows": rows}
    matrix |= {"transposed": True, "captions": "order.txt"}
    content = {"extends": "micro.yaml", "scale": "mine", "keep": [], "matrices_of_others": [matrix], "matrices": []}
    content |= {"studies": ["five_sentences"], "only": ["table3", "figure3"]}
    (micro / "config/mine.yaml").write_text(yaml.safe_dump(content))
    done = jobs(said(micro, "snakemake", "--cores", 2, "--configfile", "config/mine.yaml"))
    assert done["take_similarity"] == done["evaluate"] == 1 and "train" not in done and "extract_part" not in done
    numbers = [
        pd.read_parquet(micro / f"results/evaluation/{scale}.parquet")
        .query(f"run == '{run}' and inference == 'naive'")
        .set_index(KEY)["value"]
        for scale, run in (("micro", RUN), ("mine", GIVEN))
    ]
    assert len(numbers[0]) > 100
    pd.testing.assert_series_equal(*numbers)
    table = pd.read_csv(micro / "results/paper/mine/five_sentences/table3.csv")
    ours = table[table["row"].eq("ours")]
    assert set(ours["model"]) == {"VSE++ (matrix of others)", "chance"} and ours["published"].notna().any()
    assert ours["difference"].isna().all()  # drawn scenes are other data than print
    assert table["row"].eq("published").any()
    figure = pd.read_csv(micro / "results/paper/mine/five_sentences/figure3.csv")
    assert set(figure["model"]) == {"VSE++ (matrix of others)"}
    assert "VSE++ (matrix of others)" in (micro / "results/paper/mine/five_sentences/table3.md").read_text()
    assert (micro / "results/paper/mine/index.html").is_file()
    again = said(micro, "snakemake", "--cores", 2, "--configfile", "config/mine.yaml")
    assert "Nothing to be done" in again

    similarity[3, 4] = np.nan
    np.savetxt(micro / "theirs.csv", similarity.T, delimiter=",", fmt="%.9g")
    said(micro, "snakemake", "--cores", 2, "--configfile", "config/mine.yaml", code=1)
    log = (micro / "logs/training" / f"{GIVEN}.log").read_text()
    assert "theirs.csv: row 4, column 3" in log and "Traceback" not in log
