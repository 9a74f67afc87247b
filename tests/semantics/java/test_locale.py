"""Java's programs in a Turkish and in a German environment: what the authors' code says in English, and no more."""

from __future__ import annotations

import gzip
import itertools
import json
import os

import pytest
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from fivesentences.errors import InputError
from fivesentences.semantics import read_tuples
from fivesentences.semantics.java import parse_captions, parse_scene_graphs
from fivesentences.semantics.java.jars import java_binary
from fivesentences.semantics.java.meteor import MeteorScorer
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines

# Of an environment: a locale, or what a user tells every Java, before and behind a program's own options.
TURKISH = "-Duser.language=tr -Duser.country=TR -Duser.language.format=tr"
ENVIRONMENTS = ["both", "_JAVA_OPTIONS"]
IN_CAPITALS = {
    "A GIRL IN A KITCHEN": {("girl", "kitchen", "in"), ("kitchen",), ("girl",)},
    "A GIRL IS SITTING": {("girl", "sit"), ("girl",)},
    "Italian tourists in a TAXI": None,
}

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.parity]


@pytest.fixture(scope="module")
def english():
    """An environment in which the authors' code is right, with the ``java`` on its path."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LANG", "LC_MESSAGES", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
            patch.delenv(name, raising=False)
        patch.setenv("LC_ALL", "C")
        patch.setenv("PATH", f"{java_binary().parent}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="module")
def captions(parity_folder):
    return [*json.loads((parity_folder / "spice_flickr8k_small.json").read_text())["captions"][:20], *IN_CAPITALS]


@pytest.fixture(scope="module")
def theirs(english, captions):
    """pycocoevalcap's lines of words, and its METEOR of each caption against the next."""
    given = {index: [{"caption": caption}] for index, caption in enumerate(captions)}
    lines = [lines[0] for lines in PTBTokenizer().tokenize(given).values()]
    pairs = list(itertools.pairwise(lines))
    one, other = ({index: [pair[place]] for index, pair in enumerate(pairs)} for place in (0, 1))
    return lines, Meteor().compute_score(other, one)[1]


@pytest.fixture(params=ENVIRONMENTS)
def abroad(request, theirs, monkeypatch):
    """An environment that is not English."""
    if request.param.isupper():
        monkeypatch.setenv(request.param, TURKISH)
    else:
        for name, value in request.getfixturevalue("built_locales")[request.param].items():
            monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("abroad")
def test_words_and_meteor_are_those_of_pycocoevalcap_in_english(captions, theirs):
    lines, scores = theirs
    assert ptb_lines(captions) == lines
    places = range(len(captions))
    assert MeteorScorer(captions, [*places]).pairs(places[:-1], places[1:]).tolist() == scores


@pytest.mark.usefixtures("java_jars", "abroad")
def test_tuples_are_those_of_the_authors_program_in_english(captions, parity_folder):
    expected = json.loads((parity_folder / "spice_flickr8k_small.json").read_text())["raw_tuples"][:20]
    found = parse_scene_graphs(captions)
    assert found[:20] == [[tuple(one) for one in tuples] for tuples in expected]
    for tuples, right in zip(found[20:], IN_CAPITALS.values(), strict=True):
        assert right is None or set(tuples) == right
        assert "ı" not in str(tuples)


@pytest.mark.usefixtures("java_jars", "english")
def test_tuples_of_an_earlier_version_are_parsed_again(run, tmp_path, monkeypatch):
    """The version before wrote down no language; this is what it made in Turkish."""
    monkeypatch.chdir(tmp_path)
    caption, old = "A GIRL IN A KITCHEN", tmp_path / "captions.tuples.jsonl.gz"
    (tmp_path / "captions.txt").write_text(f"{caption}\n")
    made_by = "SPICE 1.0 (pycocoevalcap 1.2), Stanford CoreNLP 3.6.0 with tokenize, ssplit, parse, lemma"
    lines = [{"made_by": made_by, "captions": 1}, {"caption": caption, "tuples": [["gırl"], ["kıtchen"]]}]
    content = gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
    old.write_bytes(content)
    with pytest.raises(InputError, match="locale") as error:
        read_tuples(old, [caption])
    assert error.value.where == old
    assert run("phi", "spice", "captions.txt", "-o", "a.npy", "--per-image", 1, "--tuples", old).code == 1
    assert old.read_bytes() == content
    parse_captions([caption], tmp_path / "new.jsonl.gz", parsed_before=[old])
    assert run("phi", "spice", "captions.txt", "-o", "a.npy", "--per-image", 1).code == 0
    for path in (old, tmp_path / "new.jsonl.gz"):
        assert set(read_tuples(path, [caption]).of_caption[0]) == IN_CAPITALS[caption]
