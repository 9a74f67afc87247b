"""CIDEr and SPICE of captions that a model made, against pycocoevalcap and against sets of tuples."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.cider.cider import Cider

import fivesentences
from fivesentences.errors import InputError
from fivesentences.semantics import Tuples
from fivesentences.semantics.captioning import KEPT
from fivesentences.semantics.java import scene_graph_parser

WORDS = ["a", "the", "dog", "dogs", "cat", "runs", "on", "grass", "two"]
CAPTIONS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
IMAGES = st.lists(st.tuples(CAPTIONS, st.lists(CAPTIONS, min_size=1, max_size=5)), min_size=1, max_size=8)


def ngrams_of(group: list[str]) -> frozenset[tuple[str, ...]]:
    """Every n-gram of 1 to 4 words of an image's references."""
    words = [one.split() for one in group]
    return frozenset(tuple(one[at : at + n]) for n in range(1, 5) for one in words for at in range(len(one) - n + 1))


@settings(max_examples=40)
@given(images=IMAGES)
def test_cider_is_that_of_pycocoevalcap_for_the_set_and_for_each(images: list[tuple[str, list[str]]]) -> None:
    made, references = [one for one, _ in images], [group for _, group in images]
    if (
        len({ngrams_of(group) for group in references}) == 1
    ):  # every n-gram is in every image, so that none has a weight
        with pytest.raises(InputError, match=str(len(images))):
            fivesentences.cider(made, references, "whitespace")
        return
    corpus, each = Cider().compute_score(dict(enumerate(references)), {image: [one] for image, one in enumerate(made)})
    ours = fivesentences.cider(made, references, "whitespace")
    np.testing.assert_allclose(ours.each, each, rtol=0, atol=1e-9)
    assert ours.corpus == pytest.approx(corpus, abs=1e-9)


def test_cider_of_chinese_is_that_of_pycocoevalcap_for_characters_set_apart() -> None:
    made, references = ["一只狗在跑", "两只猫"], [["一只狗跑", "狗在 草地上跑"], ["猫睡觉", "两只猫在睡觉"]]
    apart = {image: [" ".join(one.replace(" ", "")) for one in group] for image, group in enumerate(references)}
    _, each = Cider().compute_score(apart, {image: [" ".join(one)] for image, one in enumerate(made)})
    ours = fivesentences.cider(made, references, "characters")
    np.testing.assert_allclose(ours.each, each, rtol=0, atol=1e-9)
    assert ours.corpus > 1 and fivesentences.cider(made, references, "whitespace").corpus == 0  # a caption is one word


def test_spice_is_f1_of_the_tuples_of_candidate_and_references() -> None:
    references = [["p q", "p r"], ["s"]]
    of_caption = [[("p",), ("p", "q")], [("p",), ("r",)], [("s",)], [("p",), ("t",)], [("s",)]]  # then the candidates
    ours = fivesentences.spice(["p t", "s"], references, Tuples(of_caption, "a test", ""))
    assert ours.each == pytest.approx([2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), 1.0])  # one of two, of three different
    assert ours.corpus == pytest.approx(ours.each.mean())


@pytest.mark.parametrize(
    ("made", "references", "named"),
    [
        (["a"], [["a"], ["b"]], "references of 2"),
        ([], [], "empty"),
        (["a"], [[]], "empty"),
        (["a"], ["b"], "one string"),
    ],
)
def test_what_cannot_be_paired_is_named(made: list[str], references: list[list[str]], named: str) -> None:
    with pytest.raises(InputError, match=named):
        fivesentences.cider(made, references, "whitespace")


def test_the_command_says_what_python_does(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    made, references = ["a dog runs", "a cat"], [["a dog", "the dog runs"], ["a cat sleeps", "cats"]]
    Path("made.txt").write_text("\n".join(made) + "\n")
    Path("references.txt").write_text("".join(f"{one}\n" for group in references for one in group))
    said = run("captioning", "made.txt", "references.txt", "--per-image", 2, "--csv", "each.csv")
    ours = fivesentences.cider(made, references, "whitespace")
    assert said.code == 0 and f"{ours.corpus:.4f}" in said.out
    np.testing.assert_allclose(pd.read_csv("each.csv")["value"], ours.each)
    said = run("captioning", "made.txt", "references.txt")
    assert said.code == 1 and "references.txt" in said.err and "4 captions" in said.err


@pytest.fixture
def asked(monkeypatch, tmp_path) -> Callable[[], list[str]]:
    """Captions that SPICE's parser was asked for since the last call; here it finds a tuple for each word."""
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(scene_graph_parser.jars, "class_path", lambda mirror: [])
    log = tmp_path / "asked.txt"
    code = f"""
import sys, json, os, signal
for text in json.loads(sys.stdin.readline())["captions"]:
    if text == "u" and os.path.exists({str(tmp_path / "kill")!r}): os.kill(os.getpid(), signal.SIGKILL)
    print(text, file=open({str(log)!r}, "a", encoding="utf-8"))
    print(json.dumps({{"caption": text, "tuples": [[word] for word in text.split()]}}), flush=True)
"""
    monkeypatch.setattr(scene_graph_parser, "WORKER", [sys.executable, "-c", code])

    def since() -> list[str]:
        said = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return said

    return since


def test_what_spice_parsed_is_kept_for_the_next_call_also_after_a_kill(asked, tmp_path) -> None:
    made, references = ["p t", "s"], [["p q", "p r"], ["u", "s"]]
    (tmp_path / "kill").touch()
    with pytest.raises(InputError, match="SIGKILL"):
        fivesentences.spice(made, references)
    assert asked() == ["p q", "p r"]
    (tmp_path / "kill").unlink()
    first = fivesentences.spice(made, references)
    assert asked() == ["u", "s", "p t"]
    assert first.each == pytest.approx([2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), 2 * 1 * (1 / 2) / (1 + 1 / 2)])
    assert fivesentences.spice(["p q", "v"], references).each == pytest.approx([4 / 5, 0])
    assert asked() == ["v"]
    assert fivesentences.spice(made, references).each.tolist() == first.each.tolist() and asked() == []
    for number in range(KEPT // 2 + 3):
        fivesentences.spice([f"w{number}"], [["x"]])
    assert len([*(tmp_path / "cache").rglob("*.jsonl.gz")]) <= KEPT + 2


def test_spice_needs_no_cache_that_can_be_written(asked, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert fivesentences.spice(["p"], [["p"]]).corpus == 1
        assert asked() == ["p"]


@pytest.mark.parametrize(
    ("captions", "noted"),
    [
        (["一只狗在跑", "两只猫在睡", "一只狗跑着", "两只猫睡着"], True),
        (["หมาวิ่งเล่น", "แมวนอน", "หมาวิ่ง", "แมวนอนหลับ"], True),
        (["कुत्ता दौड़ता है", "बिल्ली", "कुत्ता दौड़ता", "बिल्ली सोती"], False),
        (["zebra", "elephant", "zebra", "elephants"], False),
        (["un café", "crêpes", "un café noir", "des crêpes"], False),
    ],
)  # fmt: skip
def test_captions_without_spaces_are_noticed(run, tmp_path, monkeypatch, captions: list[str], noted: bool) -> None:
    monkeypatch.chdir(tmp_path)
    for name, some in (("made.txt", captions[:2]), ("references.txt", captions[2:])):
        Path(name).write_text("".join(f"{one}\n" for one in some), encoding="utf-8")
    command = ("captioning", "made.txt", "references.txt", "--per-image", 1)
    said, by_characters = run(*command), run(*command, "--metric", "cider-characters")
    assert said.code == by_characters.code == 0
    assert ("cider-characters" in said.out, captions[0] in by_characters.out) == (noted, False)
    for metric in ("cider", "cider-characters"):
        said = run("phi", metric, "made.txt", "-o", "phi.npy", "--per-image", 1)
        assert said.code == 0 and ("cider-characters" in said.err) == (noted and metric == "cider")


def test_names_of_the_package_are_those_of_its_rooms() -> None:
    assert {"cider", "evaluate", "ncs", "spice"} <= {*dir(fivesentences)}
    assert all(callable(getattr(fivesentences, name)) for name in ("cider", "evaluate", "ncs", "spice"))
    with pytest.raises(AttributeError, match="nothing"):
        _ = fivesentences.nothing
