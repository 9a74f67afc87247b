from __future__ import annotations

import pytest

from fivesentences.paper.site.notes import LETTERS, SharedNote, in_few_lines, shared_notes


def test_a_note_of_several_tables_stands_once_and_says_of_which():
    notes = {"table1": ["a", "b", "c"], "table2": ["b", "a"], "figure1": ["a", "d"], "figure2": []}
    assert shared_notes(notes) == [SharedNote("a"), SharedNote("b", ("table1", "table2"))]


def test_a_note_that_stands_twice_in_one_table_is_not_shared():
    assert shared_notes({"table1": ["a", "a"], "table2": ["b"]}) == []


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
    found = in_few_lines(notes)
    assert found.shown == tuple(notes[number] for number in shown)
    assert sorted((*found.shown, *found.folded)) == notes
