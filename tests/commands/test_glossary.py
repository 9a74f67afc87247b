"""The glossary: every word occurs where it says, every link leads somewhere, every help names it."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fivesentences.cli import app
from fivesentences.config.metrics import METRICS
from fivesentences.errors import InputError
from fivesentences.glossary import STAGES, TERMS, glossary_page, terms_of
from fivesentences.plan.schemas import schema_texts
from fivesentences.study.study import Study

ROOT = Path(__file__).parents[2]
WORDS = [term.word for term in TERMS]


def commands(group: Any = None, begin: str = "") -> dict[str, Any]:
    """Every command of the program by what is typed, those of commands with commands too; "" is the program."""
    group = group or typer.main.get_command(app)
    found = {begin: group}
    for name, command in getattr(group, "commands", {}).items():
        found |= commands(command, f"{begin} {name}".strip())
    return found


@functools.cache
def options() -> set[str]:
    """Every option and argument as the glossary writes them, ``evaluate --phi``."""
    return {
        f"{name} {written}"
        for name, command in commands().items()
        for option in command.params
        for written in (*option.opts, *option.secondary_opts, option.metavar)
        if written
    }


def properties(schema: Any) -> set[str]:
    """The keys that a JSON schema knows, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(properties, schema))
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties")
    return set(own if isinstance(own, dict) else ()).union(*map(properties, schema.values()))


@functools.cache
def sources() -> str:
    """All code that can show a word, without the glossary, and the studies."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "config").rglob("*.yaml")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files if path.name != "glossary.py")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


KEYS = {name.removesuffix(".json"): properties(json.loads(text)) for name, text in schema_texts(Study).items()}


def test_words_are_told_apart():
    assert len({word.casefold() for word in WORDS}) == len(WORDS)
    assert {term.stage for term in TERMS} == set(STAGES)


@pytest.mark.parametrize("term", TERMS, ids=WORDS)
def test_a_word_occurs_where_it_says(term):
    assert set(term.options) <= options()
    for key in term.keys:
        kind, _, name = key.partition(": ")
        assert name in KEYS[kind], key
    for shown in term.shown:
        # As a word of its own in a string, and not only inside another word.
        assert re.search(rf"(?<![A-Za-z]){re.escape(shown)}(?![a-z])", sources()), shown
    assert term.where or re.search(rf"\b{re.escape(term.word)}\b", (ROOT / term.page.partition("#")[0]).read_text())


@pytest.mark.parametrize("term", TERMS, ids=WORDS)
def test_the_page_of_a_word_exists_with_its_heading(term):
    path, _, anchor = term.page.partition("#")
    assert (ROOT / path).is_file()
    assert not anchor or anchor in anchors(ROOT / path)


@pytest.mark.parametrize("term", TERMS, ids=WORDS)
def test_a_meaning_is_one_to_three_sentences(term):
    assert term.means.endswith(".") and 40 <= len(term.means) <= 420
    assert term.means.count(". ") <= 3 and "  " not in term.means and "\n" not in term.means


def test_metrics_of_the_glossary_are_those_of_the_registry():
    for name in ("true R@k", "N@k", "SR@k", "ASP", "PMRP", "Rsum", "mR", "Nsum"):
        assert name in METRICS and terms_of(name)


@pytest.mark.parametrize("name", commands())
def test_the_help_of_every_command_names_the_glossary(name, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = run(*name.split(), "--help")
    assert said.code == 0 and "fivesentences glossary WORD" in said.out


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("GT", "ground truth"),
        ("kept", "ground truth"),
        ("Ideal Pool", "ideal"),
        ("given-rows", "ideal"),
        ("leave_out", "leave out"),
        ("true r@k", "true R@k"),
        ("paper formulas", "released formulas"),
        ("precomp", "precomp"),
    ],
)
def test_a_word_is_found_by_its_other_names_in_any_spelling(word, found):
    assert [term.word for term in terms_of(word)] == [found]


def test_the_command_prints_one_word_or_all(run, folder):
    said = run("glossary", "role")
    assert said.code == 0 and said.err == ""
    assert said.out.startswith("role\n    The name by which a study speaks of a dataset")
    assert "scale: roles" in said.out and said.out.count("\n") < 8
    everything = run("glossary").out
    assert all(f"\n{term.word}" in everything for term in TERMS)
    assert max(map(len, everything.splitlines())) <= 100
    written = json.loads(run("glossary", "phi", "--json", "-").out)
    assert written[0]["word"] == "phi" and "phi METRIC" in written[0]["options"]
    assert run("glossary", "--json", "words.json").code == 0
    assert [one["word"] for one in json.loads(Path("words.json").read_text())] == WORDS


@pytest.mark.parametrize(
    ("word", "said"),
    [("rolle", "did you mean 'role'"), ("zzzz", "fivesentences metrics every metric"), ("", "is not in the glossary")],
)
def test_an_unknown_word_ends_in_one_sentence(word, said, run):
    with pytest.raises(InputError, match=said):
        terms_of(word)
    told = run("glossary", word)
    assert told.code == 1 and told.err.count("\n") == 1 and said in told.err


def test_the_page_has_every_word_and_its_links_lead_somewhere():
    page = ROOT / "docs" / "glossary.md"
    assert page.read_text(encoding="utf-8") == glossary_page()
    links = re.findall(r"\]\(([^)]*)\)", glossary_page())
    assert len(links) == len(TERMS) + 1
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve()
        assert target.is_file() and (not anchor or anchor in anchors(target))
    # A row of the table has four cells.
    rows = [line for line in glossary_page().splitlines() if line.startswith("| **")]
    assert len(rows) == len(TERMS) and all(len(re.split(r"(?<!\\)\|", row)) == 6 for row in rows)
