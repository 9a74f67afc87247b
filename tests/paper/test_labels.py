"""One loss, and one phi, is called the same on the pages of all studies."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from fivesentences.reproduction.paper.text.labels import loss_in_words, phi_label
from fivesentences.reproduction.study.study import read_study
from fivesentences.semantics.registry import IN_WORDS

STUDIES = [read_study(path) for path in sorted(Path(__file__).parents[2].joinpath("config/studies").glob("*.yaml"))]
# What a page may call otherwise, by the study and its name.
EXCEPTIONS = {
    ("knn_margin", "max"): "the paper's word",
    ("knn_margin", "sum"): "the paper's word",
    ("five_sentences", "binary"): "Table 1 explains it",
    ("meaning", "embedding"): "phi is the subject of the page: it says what kind each is",
    ("meaning", "embedding:wordllama"): "as above",
    ("meaning", "cider-reattached"): "the figure has no column for tokens",
    ("papers_captions", "cider-reattached"): "as above",
}
# Studies whose pages call all of their losses otherwise.
OTHERWISE = {
    "evidence_tuning": "settings are the subject of the page: each is called by its number",
    "evidence_tuned": "rules are: each is called without its setting",
    "evidence_tuned_quarter": "as in evidence_tuned",
    "evidence_tuned_all": "as in evidence_tuned",
}


def test_a_loss_has_one_label() -> None:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for study in STUDIES:
        for name, loss in study.losses.items():
            if study.name not in OTHERWISE and (study.name, name) not in EXCEPTIONS:
                found[loss.model_dump_json()][loss_in_words(study, name)].append(f"{study.name}: {name}")
    assert [dict(labels) for labels in found.values() if len(labels) > 1] == []


def test_a_phi_has_one_label() -> None:
    named = {name for study in STUDIES for name in study.labels if name.split("-")[0].split("+")[0] in IN_WORDS}
    for phi in {*IN_WORDS, *named}:
        labels = {phi_label(study, phi) for study in STUDIES if (study.name, phi) not in EXCEPTIONS}
        wording = [study.name for study in STUDIES if phi in study.labels]
        if "+" in phi:  # its own words are too long for a heading
            labels = {study.labels[phi] for study in STUDIES if phi in study.labels}
        assert len(labels) == 1, f"{phi}: {labels}, worded by {wording}"


def test_exceptions_are_needed() -> None:
    words = {study.name: study.labels for study in STUDIES}
    assert [one for one in EXCEPTIONS if one[1] not in words[one[0]]] == []
