"""A consent is a person's: written by nobody else, asked for once, and for these very terms."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import yaml

from fivesentences.config.consents import agreed, is_agreed, request, write_consent
from fivesentences.config.datasets import Consent
from fivesentences.errors import InputError

TERMS = Consent(name="d", terms="https://d.org/terms")
OTHERS = Consent(name="d", terms="https://d.org/terms/2")


def test_a_consent_is_asked_for_with_the_line_that_gives_it(tmp_path: Path) -> None:
    said = request(TERMS, ["d/a.zip", "d/b.zip"], tmp_path)
    assert said.startswith("d/a.zip, d/b.zip: ") and TERMS.terms in said and "--consent d" in said
    assert not is_agreed(TERMS, tmp_path) and is_agreed(None, tmp_path)
    (tmp_path / "consents.yaml").write_text(said.partition("`")[2].partition("`")[0])
    assert is_agreed(TERMS, tmp_path) and agreed(tmp_path)["d"].date == datetime.date.today()


def test_other_terms_are_asked_for_again(tmp_path: Path) -> None:
    write_consent(TERMS, tmp_path)
    assert is_agreed(TERMS, tmp_path) and not is_agreed(OTHERS, tmp_path)
    assert f"you agreed to {TERMS.terms}" in request(OTHERS, ["d/a.zip"], tmp_path)
    write_consent(OTHERS, tmp_path)
    assert is_agreed(OTHERS, tmp_path) and not is_agreed(TERMS, tmp_path)


def test_consents_of_others_stay(tmp_path: Path) -> None:
    write_consent(TERMS, tmp_path)
    path = write_consent(Consent(name="e", terms="https://e.org"), tmp_path)
    assert {name: one["terms"] for name, one in yaml.safe_load(path.read_text()).items()} == {
        "d": TERMS.terms,
        "e": "https://e.org",
    }


@pytest.mark.parametrize("content", ["d: yes", "- d", "d: {terms: x}", "d: {terms: x, date: soon}", "d: {"])
def test_a_file_that_says_something_else_is_one_sentence_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "consents.yaml"
    path.write_text(content)
    for call in (lambda: is_agreed(TERMS, tmp_path), lambda: write_consent(TERMS, tmp_path)):
        with pytest.raises(InputError) as error:
            call()
        assert error.value.where == path and path.read_text() == content
