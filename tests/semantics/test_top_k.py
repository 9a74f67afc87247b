"""The best images of a caption: exactly those of the whole matrix; a kill costs at most seconds of work."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
import scipy.sparse

from fivesentences.errors import InputError
from fivesentences.semantics import prepare, read_phi, read_top_k, top_k, write_phi, write_top_k
from fivesentences.semantics.top_k import best_of_rows
from kill import Program

CAPTIONS = ["a dog runs", "a dog sits", "two cats sleep", "one cat sleeps", "a red car", "!", ""]
IMAGE_OF_CAPTION = [0, 0, 1, 1, 2, 2, 2]


def sorted_out(matrix, k):
    """The k best by a full sort in Python: by descending score, then index; none at 0."""
    images = np.full((len(matrix), k), -1, dtype=np.int32)
    scores = np.zeros((len(matrix), k), dtype=np.float32)
    for row, values in enumerate(matrix.astype(np.float32).tolist()):
        best = sorted((-value, index) for index, value in enumerate(values) if value > 0)[:k]
        for place, (value, index) in enumerate(best):
            images[row, place], scores[row, place] = index, -value
    return images, scores


def random_captions(n_images, seed):
    rng = np.random.default_rng(seed)
    words = [f"w{index}" for index in range(30)]
    captions = [" ".join(rng.choice(words, size=rng.integers(0, 9))) for _ in range(n_images * 3)]
    return captions, np.repeat(np.arange(n_images), 3)


@pytest.mark.parametrize("kind", ["random", "ties", "few", "nothing", "near"])
@pytest.mark.parametrize("k", [1, 5, 700])
def test_the_best_of_a_row_are_those_of_a_full_sort(kind, k):
    rng = np.random.default_rng(k)
    matrix = {
        "random": rng.random((7, 3000)),
        "ties": rng.integers(0, 4, (7, 3000)) / 3,
        "few": rng.random((7, 3000)) * (rng.random((7, 3000)) < 0.02),
        "nothing": np.zeros((7, 3000)),
        "near": 1 + rng.random((7, 3000)) * 1e-9,  # different as float64, equal as float32
    }[kind]
    rows = scipy.sparse.csr_array(matrix)
    for row in range(7):  # columns in any order, as products bring them
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        order = rng.permutation(part.stop - part.start)
        rows.data[part], rows.indices[part] = rows.data[part][order], rows.indices[part][order]
    images, scores = best_of_rows(rows, k)
    wanted_images, wanted_scores = sorted_out(matrix, k)
    np.testing.assert_array_equal(images, wanted_images)
    np.testing.assert_array_equal(scores, wanted_scores)


@pytest.mark.parametrize("name", ["cider", "binary"])
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_the_store_its_rows_and_its_cells_are_the_best_of_the_phi_file(tmp_path, name, k):
    captions, image_of_caption = random_captions(60, seed=k)
    write_phi(name, captions, image_of_caption, tmp_path / "phi.npy")
    write_top_k(name, captions, image_of_caption, tmp_path / "best", k=k)
    whole = np.asarray(read_phi(tmp_path / "phi.npy"))
    best = read_top_k(tmp_path / "best", captions, image_of_caption)
    assert (best.shape, best.k) == (whole.shape, min(k, 60))
    images, scores = sorted_out(whole, best.k)
    np.testing.assert_array_equal(best.images, images)
    np.testing.assert_array_equal(best.scores, scores)
    kept = np.zeros(whole.shape, dtype=bool)
    kept[np.nonzero(images >= 0)[0], images[images >= 0]] = True
    wanted = np.where(kept, whole, 0)
    rows = best.rows([100, 0, 0, 57])
    assert rows.has_sorted_indices
    np.testing.assert_array_equal(rows.toarray(), wanted[[100, 0, 0, 57]])
    np.testing.assert_array_equal(rows[:, [5, 1]].toarray(), wanted[[100, 0, 0, 57]][:, [5, 1]])


KILLED = """
import json, os, signal, sys
from fivesentences.semantics import top_k

top_k.SECONDS_BETWEEN_SAVES = 0.0
blocks = 0
whole = top_k.best_of_rows
def killed_later(rows, k):
    global blocks
    blocks += 1
    if blocks == 12:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(rows, k)
top_k.best_of_rows = killed_later
top_k.write_top_k("cider", *json.loads(sys.argv[1]), sys.argv[2], k=9)
"""


@pytest.mark.slow
def test_after_a_kill_the_work_continues_where_it_stopped(tmp_path, monkeypatch):
    captions, image_of_caption = random_captions(100, seed=5)
    with Program(KILLED, json.dumps([captions, image_of_caption.tolist()]), tmp_path / "best") as killed:
        assert killed.end().status == -signal.SIGKILL
    assert not (tmp_path / "best").exists()
    done = json.loads((tmp_path / ".best.partial" / "progress.json").read_text())["groups"]
    blocks = prepare("cider", captions, image_of_caption).groups(top_k.ROWS_OF_BLOCK)
    assert 0 < done < 12

    scored = []
    whole = top_k.best_of_rows
    monkeypatch.setattr(top_k, "best_of_rows", lambda rows, k: scored.append(rows.shape[0]) or whole(rows, k))
    write_top_k("cider", captions, image_of_caption, tmp_path / "best", k=9)
    assert len(scored) == len(blocks) - done
    images, scores = sorted_out(prepare("cider", captions, image_of_caption).score(np.arange(300)), 9)
    best = read_top_k(tmp_path / "best", captions)
    np.testing.assert_array_equal(best.images, images)
    np.testing.assert_array_equal(best.scores, scores)
    assert [file.name for file in tmp_path.iterdir()] == ["best"]
    assert sorted(file.name for file in (tmp_path / "best").iterdir()) == ["images.npy", "note.json", "scores.npy"]


@pytest.mark.parametrize("damage", [b"", b"\1" * 100, b'{"groups": 1}'])
def test_an_unfinished_store_of_other_captions_or_a_damaged_one_is_not_used(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(top_k, "best_of_rows", lambda rows, k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_top_k("cider", CAPTIONS[::-1], IMAGE_OF_CAPTION[::-1], tmp_path / "best", k=2)
    monkeypatch.undo()
    if damage:
        (tmp_path / ".best.partial" / "progress.json").write_bytes(damage)
    write_top_k("cider", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "best", k=2)
    np.testing.assert_array_equal(
        read_top_k(tmp_path / "best", CAPTIONS).images,
        sorted_out(prepare("cider", CAPTIONS, IMAGE_OF_CAPTION).score(np.arange(7)), 2)[0],
    )


def test_a_store_is_replaced_and_nothing_else_is(tmp_path):
    write_top_k("cider", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "best", k=2)
    (tmp_path / "best" / "my_notes.txt").write_text("a user's")
    write_top_k("cider", CAPTIONS[:3], [0, 0, 1], tmp_path / "best", k=1)
    assert (tmp_path / "best" / "my_notes.txt").read_text() == "a user's"
    best = read_top_k(tmp_path / "best", CAPTIONS[:3])
    assert best.images.shape == (3, 1)
    (tmp_path / "photos").mkdir()
    for out, k, why in (
        ("photos", 1, "not a store of best images"),
        ("new", 0, "k is 0"),
        ("phi.npy", 3, r"without \.npy"),
    ):
        with pytest.raises(InputError, match=why):
            write_top_k("cider", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / out, k=k)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "photos"]
