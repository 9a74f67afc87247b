"""Text in Markdown, read back by a parser that is not ours."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fivesentences.errors import visible
from fivesentences.metrics.markdown import escape_markdown, piped
from fivesentences.reproduction.paper.tables.writing import markdown

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "a|b", "[x](javascript:y)", "![x](y)", "[x][y]", "[x]: y", "<script>alert(1)</script>", "&lt;b&gt;", "`a|b`", "``",
    "_a_ __b__ c_d_e", "~~a~~", "*a* **b**", "a\\", "a\nb\r\n\n# c", "a\tb", "\x1b[2J", "# c", "> c", "- c", "--- ",
    "12. c", "<https://a.b>", "R&D [0.7, 0.8]",
]  # fmt: skip


def cells(text: str) -> list[str]:
    """What a reader sees in a table of one heading and one cell; a part that is no text is named by its kind."""
    return [
        "".join(part.content if part.type == "text" else f"({part.type})" for part in token.children or [])
        for token in PARSER.parse(text)
        if token.type == "inline"
    ]


def shown(text: str) -> str:
    return visible(" ".join(text.split()))


@given(st.text(st.sampled_from("a|[]()<>&;#`_*~\\!:\"' \n\t\x1b-x1.=")))
@pytest.mark.parametrize("place", ["a table", "a paragraph"])
def test_a_reader_sees_the_text_that_was_escaped(place, text):
    check(place, text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("place", ["a table", "a paragraph"])
def test_hostile_text_is_shown_as_text(place, text):
    check(place, text)


def check(place: str, text: str) -> None:
    if place == "a paragraph":
        assert cells(escape_markdown(text)) == [shown(text)] * bool(shown(text))
    else:
        found = cells("\n".join([piped(["head"]), piped(["---"]), piped([escape_markdown(f"a {text} b")])]))
        assert found == ["head", shown(f"a {text} b")]


def test_a_table_shows_its_title_and_caption_as_text(build, scale):
    text = "a|b [x](y) <script>\n# c"
    table = build("knn_margin/table1", scale)
    plain = markdown(table).splitlines()
    odd = markdown(dataclasses.replace(table, title=text, caption=text, stub=(text, *table.stub[1:]))).splitlines()
    assert len(odd) == len(plain)
    assert cells("\n".join(odd))[:3] == [shown(text)] * 3
