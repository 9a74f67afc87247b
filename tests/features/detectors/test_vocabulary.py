"""Names of classes from vocabulary files."""

from __future__ import annotations

import pytest

from fivesentences.errors import InputError
from fivesentences.features.detectors import read_vocabulary


def test_the_first_synonym_of_a_line_names_the_class(tmp_path):
    path = tmp_path / "objects_vocab.txt"
    path.write_bytes(b"yolk\nGoal , post\r\nbathroom")  # no newline at the end, as in the published files
    assert read_vocabulary(path, 3) == ("yolk", "goal", "bathroom")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"yolk\n", r"1.*3"), (b"yolk\n, goal\nbathroom\n", "2"), (b"yolk\n\xff\nbathroom\n", r"5.*2.*UTF-8")],
)
def test_other_files_are_refused(content, sentence, tmp_path):
    path = tmp_path / "objects_vocab.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_vocabulary(path, 3)
