"""Tables that count the corpora of a scale."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fivesentences.corpus import Corpus
from fivesentences.documents import read_yaml
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.rendering import make
from fivesentences.reproduction.plan.plan import plan_of, scale_of

CONFIG = Path(__file__).parents[2] / "config"


def corpus_of(name: str, rows: list[tuple[str, str, str]]) -> Corpus:
    """A corpus of one caption per image: (image, split, caption)."""
    columns = {"image_id": [image for image, _, _ in rows], "filename": [f"{image}.jpg" for image, _, _ in rows]}
    columns |= {"caption_id": [f"{image}#0" for image, _, _ in rows], "caption": [caption for *_, caption in rows]}
    return Corpus(name, pd.DataFrame(columns | {"split": [split for _, split, _ in rows], "category": None}))


def test_words_are_counted_in_the_split_of_every_dataset_that_has_it(tmp_path: Path) -> None:
    long = [
        ("a", "test", "a brown dog runs ."),
        ("b", "test", "two boats"),
        ("c", "train", "one two three four five six"),
    ]
    corpora = [corpus_of("flickr30k", long), corpus_of("coco", [("d", "test", "a cat")]), corpus_of("none", long[2:])]
    for corpus in corpora:
        corpus.write(tmp_path / f"{corpus.name}.parquet")
    given = {"scale": "words", "title": "Words", "studies": ["papers_captions"]}
    plan = plan_of(scale_of(given, CONFIG / "words.yaml"), CONFIG)
    (spec,) = plan.tables.values()
    context = Context("papers_captions", plan.studies["papers_captions"], plan.scale)
    table = make(spec, context, [tmp_path / f"{corpus.name}.parquet" for corpus in corpora])
    values = table.tidy().set_index(["dataset", "quantity"])["value"]
    assert values["flickr30k"].to_dict() == {"images": 2, "captions": 2, "words per caption": pytest.approx(3.5)}
    assert make(spec, context, [tmp_path / "none.parquet"]).groups == ()
    assert values["coco", "words per caption"] == 2 and "none" not in values.index.get_level_values(0)


def test_words_are_counted_in_all_datasets_of_a_scale_which_needs_their_captions_alone() -> None:
    path = CONFIG / "papers_captions.yaml"
    plan = plan_of(scale_of(read_yaml(path), path), CONFIG)
    read = plan.report.numbers_of("papers_captions", "papers_captions/lengths")
    assert read == [plan.places.corpus("coco"), plan.places.corpus("flickr30k")]
