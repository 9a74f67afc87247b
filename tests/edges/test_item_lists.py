"""Lists of first items in place of a similarity: the numbers of the whole matrix, or what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_cases import refused, right
from fivesentences import evaluate
from fivesentences.errors import InputError
from fivesentences.retrieval import ItemLists

IMAGES, CAPTIONS, K = 12, 36, 18
ASK = "--captions captions.txt --image-of-caption own.txt --ks 1,5 --ms 1 --no-asp --quiet"


def _scores() -> np.ndarray:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(IMAGES, CAPTIONS))
    scores[np.arange(CAPTIONS) % IMAGES, np.arange(CAPTIONS)] += 1.5
    return scores.astype(np.float32)


def _names(side: str) -> tuple[list[str], list[str]]:
    """Names of queries and items, which look like files and sentences' keys."""
    images, captions = [f"{7 * at}.jpg" for at in range(IMAGES)], [f"{at // 3}#{at % 3}" for at in range(CAPTIONS)]
    return (images, captions) if side == "i2t" else (captions, images)


def _lists(side: str, k: int = K) -> tuple[np.ndarray, np.ndarray]:
    scores = _scores() if side == "i2t" else _scores().T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def _rows(side: str, by_name: bool, k: int = K) -> pd.DataFrame:
    """Rows of query, item and score in another order than that of the lists."""
    items, scores = _lists(side, k)
    rows = pd.DataFrame({"query": np.repeat(np.arange(len(items)), items.shape[1]), "item": items.ravel(),
                         "score": scores.ravel()})  # fmt: skip
    if by_name:
        for column, names in zip(("query", "item"), _names(side), strict=True):
            rows[column] = np.array(names)[rows[column]]
    return rows.sample(frac=1, random_state=0)


def _write_run(path: Path, rows: pd.DataFrame) -> None:
    lines = [f"{query} Q0 {item} 0 {score!r} mine\n" for query, item, score in rows.itertuples(index=False)]
    path.write_text("".join(lines))


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(folder / "sims.npy", _scores())
    words = "a dog runs on green grass and two men play football near red old houses"
    texts = [" ".join(rng.choice(words.split(), 7)) for _ in range(CAPTIONS)]
    (folder / "captions.txt").write_text("\n".join(texts) + "\n")
    (folder / "own.txt").write_text("".join(f"{at % IMAGES}\n" for at in range(CAPTIONS)))
    for side, of in (("i2t", "images"), ("t2i", "captions")):
        items, scores = _lists(side)
        (folder / f"{of}.ids").write_text("\n".join(_names(side)[0]) + "\n")
        rows = _rows(side, by_name=True)
        _write_run(folder / f"{side}.run", rows)
        rows.to_parquet(folder / f"{side}.parquet")
        found: dict[str, dict[str, float]] = {}
        for query, item, score in rows.itertuples(index=False):
            found.setdefault(query, {})[item] = float(score)
        (folder / f"{side}.json").write_text(json.dumps({"mteb_model_meta": {"name": "m"}, "default": {"test": found}}))
        np.savez(folder / f"{side}.npz", indices=items, scores=scores)
        with_gaps = np.concatenate([items, np.full((len(items), 2), -1)], axis=1)
        np.savez(
            folder / f"{side}_faiss.npz",
            indices=with_gaps,
            scores=np.pad(scores, ((0, 0), (0, 2)), constant_values=-3e38),
        )
    (folder / "equal.ids").write_text("\n".join([*_names("i2t")[0][:3], "0.jpg", *_names("i2t")[0][4:]]) + "\n")
    rows = _rows("i2t", by_name=False)
    _write_run(folder / "numbers.run", rows)
    _write_run(
        folder / "letters.run", rows.assign(query="i" + rows["query"].astype(str), item="c" + rows["item"].astype(str))
    )
    _write_run(folder / "missing.run", rows[~rows["query"].isin([4, 7])])
    _write_run(folder / "unknown.run", rows.assign(item=rows["item"].replace(5, 77)))
    _write_run(folder / "twice.run", pd.concat([rows, rows.iloc[:1]]))
    _write_run(folder / "nan.run", rows.assign(score=rows["score"].where(rows.index != 3)))
    _write_run(folder / "short.run", _rows("i2t", by_name=False, k=3))
    (folder / "words.run").write_text("three words only\n")
    (folder / "empty.run").write_text("")
    items, scores = _lists("i2t")
    np.savez(folder / "rising.npz", indices=items, scores=-scores)
    np.savez(folder / "shapes.npz", indices=items, scores=scores[:, 1:])
    np.savez(folder / "floats.npz", indices=items.astype(float), scores=scores)
    (folder / "two.json").write_text(json.dumps({"en": {"a": {"b": 1.0}}, "de": {"test": {"a": {"b": 1.0}}}}))
    (folder / "none.json").write_text("{}")


IDS = "--image-ids images.ids --caption-ids captions.ids"
CASES = [
    refused(f"evaluate missing.run {ASK}", "missing.run", "2 of 12 images", "4, 7"),
    refused(f"evaluate unknown.run {ASK}", "unknown.run", "77"),
    refused(f"evaluate twice.run {ASK}", "twice.run", "twice"),
    refused(f"evaluate nan.run {ASK}", "nan.run", "NaN"),
    refused(f"evaluate short.run {ASK}", "short.run", "3 items", "5", "--ks"),
    refused(f"evaluate words.run {ASK}", "words.run", "TREC"),
    refused(f"evaluate empty.run {ASK}", "empty.run"),
    refused(f"evaluate rising.npz {ASK}", "rising.npz", "query 0", "negatives"),
    refused(f"evaluate shapes.npz {ASK}", "shapes.npz", "[12, 18]", "[12, 17]"),
    refused(f"evaluate floats.npz {ASK}", "floats.npz", "float64"),
    refused(f"evaluate two.json {ASK}", "two.json", "de"),
    refused(f"evaluate none.json {ASK}", "none.json"),
    refused(f"evaluate t2i.run,t2i=i2t.run {IDS} {ASK}", "t2i.run"),
    refused(f"evaluate letters.run,t2i=letters.run {ASK}", "letters.run", "I2T,t2i"),
    refused(f"evaluate i2t.run {ASK}", "i2t.run", "--image-ids"),
    refused(f"evaluate i2t.run {IDS} --inference csls {ASK}", "i2t.run", "csls"),
    refused(f"evaluate i2t.run {IDS} --first-captions 2 {ASK}", "--first-captions"),
    refused(f"evaluate i2t.run --image-ids equal.ids --caption-ids captions.ids {ASK}", "0 and 3", "'0.jpg'"),
    refused("evaluate i2t.npz --quiet", "i2t.npz", "--captions"),
    refused(f"evaluate gone.run {ASK}", "gone.run"),
    # Ids of all captions, as of a file that has more of each image than are scored.
    right(f"evaluate sims.npy --first-captions 2 {IDS} {ASK} --json -", '"captions": 24'),
    right(f"evaluate short.run --ks 1,3 {ASK.replace('--ks 1,5', '')} --json - ", "first 3 items"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_item_lists(case, carry_out):
    carry_out(case)


def _numbers(run, model: str) -> dict[tuple[str, ...], float]:
    said = run("evaluate", *model.split(), *ASK.split(), "--json", "-")
    assert said.code == 0, said.err
    rows = json.loads(said.out)["values"]
    return {
        tuple(str(row[key]) for key in ("metric", "direction", "ground_truth", "m", "phi")): row["value"]
        for row in rows
    }


@pytest.mark.parametrize(
    "model",
    [
        *(f"i2t.{kind},t2i=t2i.{kind} {IDS}" for kind in ("run", "json", "parquet")),
        "i2t.npz,t2i=t2i.npz",
        "i2t_faiss.npz,t2i=t2i_faiss.npz",
    ],
)
def test_lists_give_the_numbers_of_the_matrix(model, prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    whole, lists = _numbers(run, "sims.npy"), _numbers(run, model)
    # Lists of caption queries hold every image: nothing lies behind them.
    assert {key[:2] for key in whole.keys() - lists.keys()} == {("Med r", "i2t"), ("Mean r", "i2t")}
    assert lists == {key: whole[key] for key in lists}


@pytest.mark.parametrize("model", ["i2t.npz", "t2i.npz", "numbers.run", "letters.run", f"i2t.json {IDS}"])
def test_lists_of_one_direction_have_its_numbers_alone(model, prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    whole, lists = _numbers(run, "sims.npy"), _numbers(run, model)
    side = "t2i" if model.startswith("t2i") else "i2t"
    assert {key[1] for key in lists} == {side}
    assert lists == {key: whole[key] for key in lists} and ("R@5", side, "", "0", "") in lists


def test_what_lists_do_not_reach_without_own_items_is_left_out(prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    items, scores = _lists("i2t", 6)  # of which up to three are own ones
    np.savez(prepared / "six.npz", indices=items, scores=scores)
    keys = _numbers(run, "six.npz").keys()
    assert ("N@5", "i2t", "kept", "0", "cider") in keys
    assert ("N@1", "i2t", "removed", "0", "cider") in keys
    assert ("N@5", "i2t", "removed", "0", "cider") not in keys
    assert not [key for key in keys if key[0] in ("Nsum", "Rsum")]


@pytest.mark.parametrize("cells", [{}, {"phi": True}])
def test_lists_in_python_are_those_of_faiss(cells):
    own = np.arange(CAPTIONS) % IMAGES
    phis = {"p": np.random.default_rng(5).random((CAPTIONS, IMAGES))} if cells else None
    found = {side: _lists(side)[::-1] for side in ("i2t", "t2i")}
    lists = evaluate(ItemLists.of((IMAGES, CAPTIONS), **found), phis=phis, image_of_caption=own, ks=(1, 5))
    whole = evaluate(_scores(), phis=phis, image_of_caption=own, ks=(1, 5), asp_ties=())
    left_out = {(row["metric"], row["direction"]) for row in whole.values if row not in lists.values}
    assert left_out == {("Med r", "i2t"), ("Mean r", "i2t")} and len(lists.values) == len(whole.values) - 2


def _with(side: str, at: tuple[int, int], item: float | None = None, score: float | None = None):
    items, scores = _lists(side)
    items[at] = items[at] if item is None else item
    scores[at] = scores[at] if score is None else score
    return scores, items


@pytest.mark.parametrize(
    ("lists", "says"),
    [
        ({}, "t2i"),
        ({"i2t": _lists("i2t")}, "float32"),  # indices and scores exchanged
        ({"t2i": _lists("i2t")[::-1]}, "36 queries"),
        ({"i2t": _with("i2t", (3, 4), item=36)}, "item 36"),
        ({"i2t": _with("i2t", (3, 0), item=-1)}, "query 3"),
        ({"i2t": _with("i2t", (3, 4), score=np.nan)}, "NaN"),
        ({"i2t": _with("i2t", (3, 4), score=9.0)}, "query 3"),
        ({"i2t": _with("i2t", (3, 4), item=_lists("i2t")[0][3, 5])}, "twice"),
    ],
)
def test_what_is_wrong_with_lists_in_python(lists, says):
    with pytest.raises(InputError, match=says):
        ItemLists.of((IMAGES, CAPTIONS), **lists)


def test_models_of_lists_and_of_matrices_are_compared(prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    said = run("evaluate", "sims.npy", "lists=i2t.npz,t2i=t2i.npz", *ASK.split(), "--json", "-")
    assert said.code == 0, said.err
    differences = [row["difference"] for row in json.loads(said.out)["tests"] if row["metric"] == "R@1"]
    assert differences and not any(differences)


def test_runs_that_are_written_are_read_again(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("example", "-o", ".").code == 0
    told = ("--captions", "captions.txt", "--ks", "1,5", "--no-asp", "--quiet")
    for how, folder in (("--whole", "whole"), ("--in-blocks", "blocks")):
        done = run("evaluate", "m=images.npy,texts.npy", *told, how, "--trec", folder, "--trec-depth", "15")
        assert done.code == 0, done.err
    again = run("evaluate", "m=whole/i2t.run,t2i=whole/t2i.run", *told, "--trec", "again", "--trec-depth", "15")
    assert again.code == 0, again.err
    for name in ("i2t.run", "t2i.run", "i2t.qrels", "t2i.qrels"):
        written = {folder: (tmp_path / folder / name).read_bytes() for folder in ("whole", "blocks", "again")}
        assert written["whole"] and written["whole"] == written["blocks"] == written["again"]
