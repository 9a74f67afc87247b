"""`fivesentences similarity`: a finished run scores a split again, with the bits that training wrote."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences import cli
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.evaluation.scoring import score_split
from fivesentences.training import train_run


def test_a_checkpoint_scores_a_split_as_training_did(inputs, spec_of, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train_run(spec_of(epochs=1), *inputs, tmp_path / "run")
    asked = ["similarity", "run", "-o", "sims.npy", "--captions", "c.txt", "--image-of-caption", "i.txt"]
    for split in ("test", "dev"):
        monkeypatch.setattr("sys.argv", ["fivesentences", *asked, "--split", split])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code and "sims.npy: similarity, float32 [8 images, 24 captions]" in capsys.readouterr().out
        np.testing.assert_array_equal(np.load("sims.npy"), np.load(f"run/similarity_{split}.npy"))
        gallery = Corpus.read(inputs.corpus).split(split)
        assert (tmp_path / "c.txt").read_text().splitlines() == gallery.captions
        assert [int(line) for line in (tmp_path / "i.txt").read_text().split()] == [c // 3 for c in range(24)]
    assert score_split("run", "train")[1].shape == (24, 72)  # which training does not score
    monkeypatch.setattr("sys.argv", ["fivesentences", "evaluate", "sims.npy", "--captions", "c.txt", "--quiet"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code and "N@k" in capsys.readouterr().out

    with pytest.raises(InputError, match="has no images"):
        score_split("run", "tset")
    wider = tmp_path / "wide.npy"
    np.save(wider, np.zeros((40, 21), dtype=np.float32))
    wider.with_suffix(".images.parquet").write_bytes(inputs.features.with_suffix(".images.parquet").read_bytes())
    with pytest.raises(InputError, match="21 dimensions"):
        score_split("run", features=wider)
    np.save(wider, np.zeros((40, 7, 20), dtype=np.float32))
    with pytest.raises(InputError, match="features that it was trained with"):
        score_split("run", features=wider)
    with pytest.raises(InputError, match="name the corpus"):
        score_split("run", corpus="elsewhere.parquet")


def test_a_folder_without_weights_is_no_run(tmp_path):
    with pytest.raises(InputError, match=r"no weights\.safetensors"):
        score_split(tmp_path)
