"""Banks of finished runs: training captions and images of the run itself, scored by its weights."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from fivesentences.corpus import Corpus, training_part
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable
from fivesentences.reproduction.evaluation.bank_files import read_banks
from fivesentences.reproduction.evaluation.banks import BankedRun, drawn_bank, score_banks
from fivesentences.reproduction.evaluation.run import RunEvaluator
from fivesentences.reproduction.evaluation.scoring import score_split
from fivesentences.retrieval import qb_norm
from fivesentences.retrieval.query_banks import Bank
from fivesentences.training import train_run
from fivesentences.training.checkpoint import load_trained


def vectors(part, trained, inputs):
    """Vectors of the images and captions of a part of the corpus, each encoded alone."""
    table = FeatureTable.open(inputs.features)
    prepared = trained.preparation.apply(table.take(table.where(part.images["image_id"].tolist())))
    numbers = [trained.vocabulary.encode(caption) for caption in part.captions]
    with torch.inference_mode():
        images = [trained.model.encode_images(torch.tensor(one[None]))[0].numpy() for one in prepared]
        captions = [
            trained.model.encode_captions(torch.tensor([one]), torch.tensor([len(one)]))[0].numpy() for one in numbers
        ]
    return np.array(images, dtype=np.float64), np.array(captions, dtype=np.float64)


def test_a_bank_has_one_caption_of_each_training_image_of_the_run(inputs):
    train = training_part(Corpus.read(inputs.corpus).split("train"), 0.5)
    banks = [drawn_bank(train, seed) for seed in range(20)]
    for bank in banks:
        assert bank.images["image_id"].tolist() == train.images["image_id"].tolist()
        assert bank.n_captions == train.n_images and set(bank.captions) <= set(train.captions)
    first = Counter(bank.table["caption_id"].iloc[0] for bank in banks)
    assert set(first) == set(train.table["caption_id"][train.image_of_caption == 0])  # each of them at some seed
    fewer = drawn_bank(train, 0, most=5)
    assert fewer.n_images == fewer.n_captions == 5
    assert drawn_bank(train, 0).captions == banks[0].captions != banks[1].captions


def test_banks_are_the_similarities_of_the_runs_weights(inputs, spec_of, tmp_path):
    spec, folder = spec_of(epochs=1), tmp_path / "run"
    train_run(spec, *inputs, folder)
    score_banks([BankedRun("one", folder), BankedRun("two", folder, dual=True)], *inputs, tmp_path / "banks.parquet")
    found = read_banks(tmp_path / "banks.parquet")
    assert {run: {side: list(banks) for side, banks in of.items()} for run, of in found.items()} == {
        "one": {"i2t": ["bank"], "t2i": ["bank"]},
        "two": {"i2t": ["bank", "gallery_bank"], "t2i": ["bank", "gallery_bank"]},
    }
    # The same by the model itself, one item at a time.
    corpus, trained = Corpus.read(inputs.corpus), load_trained(folder)
    bank, test = drawn_bank(training_part(corpus.split("train"), spec.fraction), spec.seed), corpus.split("test")
    images, captions = zip(*(vectors(part, trained, inputs) for part in (bank, test)), strict=True)
    expected = {
        "i2t": {"bank": Bank.of(images[0] @ captions[1].T), "gallery_bank": Bank.of(captions[0] @ captions[1].T, 3.0)},
        "t2i": {"bank": Bank.of(captions[0] @ images[1].T), "gallery_bank": Bank.of(images[0] @ images[1].T, 3.0)},
    }
    for side, of_side in expected.items():
        for name, one in of_side.items():
            ours = found["two"][side][name]
            np.testing.assert_allclose(ours.log_sums, one.log_sums, rtol=0, atol=1e-4)
            np.testing.assert_array_equal(ours.retrieved, one.retrieved)
            assert (ours.beta, ours.k) == (one.beta, one.k)

    similarity = score_split(folder, "test", *inputs)[1]
    phi = np.random.default_rng(0).gamma(0.4, 0.3, similarity.T.shape)
    values, _, _ = RunEvaluator({"main": phi})(similarity, ["naive", "qb_norm", "dual_bank"], banks=found["two"])
    read = qb_norm(similarity, images[0] @ captions[1].T)
    hits = np.mean([read[image].argmax() // 3 == image for image in range(len(read))])
    (recall,) = (
        value["value"]
        for value in values
        if (value["metric"], value["direction"], value["inference"]) == ("R@1", "i2t", "qb_norm")
    )
    assert recall == pytest.approx(100 * hits)
    with pytest.raises(InputError, match="qb_norm reads similarities of training queries"):
        RunEvaluator({"main": phi})(similarity, ["qb_norm"])


def test_a_model_without_a_vector_per_item_has_no_dual_bank(grid_inputs, model_spec_of, tmp_path):
    train_run(model_spec_of("scan", epochs=1), *grid_inputs, tmp_path / "run")
    score_banks([BankedRun("one", tmp_path / "run")], *grid_inputs, tmp_path / "banks.parquet")
    with pytest.raises(InputError, match="'scan' does not compare images with images"):
        score_banks([BankedRun("one", tmp_path / "run", dual=True)], *grid_inputs, tmp_path / "banks.parquet")
