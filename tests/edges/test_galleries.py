"""Edges of matrices: what they hold, how they are stored, whose captions they are, and what is computed from them."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_cases import refused, right
from fivesentences.evaluation import coco_test_ids, compare, evaluate
from fivesentences.metrics import Positives, recall_at_k
from fivesentences.retrieval import Gallery, cosine_similarity, inverted_softmax, rescore, unique_images
from fivesentences.semantics import cider_matrix

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

OWN = np.arange(100) // 5 == np.arange(20)[:, None]
UNEQUAL = np.sort(np.concatenate([np.arange(20), np.random.default_rng(2).integers(0, 20, 80)]))
LINE = "COCO_val2014:sentid:{},COCO_val2014_{:012d}.jpg,{},{}\n"


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 100)).astype(np.float32)
    images = rng.normal(size=(20, 8)).astype(np.float32)
    captions = np.repeat(images, 5, axis=0) + rng.normal(size=(100, 8)).astype(np.float32)
    whole = (scores * 1e3).astype(np.int64) + 2**60
    zeros = images.copy()
    zeros[[3, 7]] = 0
    arrays = {
        "s": scores,
        "phi": np.abs(scores.T),
        "huge": scores.astype(np.float64) * 1e300,
        "int60": whole,
        "uint60": whole.astype(np.uint64),
        "exact60": (scores * 1e3).astype(np.int64) * 256 + 2**60,
        "complex": scores.astype(complex),
        "datetime": whole.astype("M8[s]"),
        "struct": np.zeros((20, 100), dtype=[("a", "f4"), ("b", "i4")]),
        "text": scores.astype(str),
        "long": scores.astype(np.longdouble),
        "big_endian": scores.astype(">f4"),
        "fortran": np.asfortranarray(scores),
        "none": scores[:0],
        "zero": np.zeros_like(scores),
        "tiles": np.tile(scores, (5, 1)),
        "images": images,
        "captions": captions,
        "zeros": zeros,
        "caption_zeros": np.where(np.arange(100)[:, None] == 5, 0, captions),
        "image_tiles": np.tile(images, (5, 1)),
        "image_blocks": np.repeat(images, 5, axis=0),
        "image_mixed": np.repeat(images, 5, axis=0)[rng.permutation(100)],
        "image_unequal": images[UNEQUAL],
        "image_unequal_half": images[UNEQUAL].astype(np.float16) * np.float16(1 + 1e-3),
        "unequal": scores[UNEQUAL],
        "cosines": scores.T / 10,
        "phi_zero": np.zeros_like(scores.T),
        "phi_tiny": np.abs(scores.T) * 1e-9,
        "phi_gaps": np.abs(scores.T) * (np.arange(20) != 4),
        "distances": 30 - images @ captions.T,
        "coarse": np.round(images @ captions.T / 4),
        "few": scores[:4, :20],
        "twins": np.concatenate([images[:19], images[4:5]]),
        "subnormal": images * np.float32(1e-42),
        "half": (images * 20_000).astype(np.float16),
        "int8": (images * 30).astype(np.int8),
        "collapsed": np.ones_like(images),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    table = pd.DataFrame(scores)
    table.to_csv(folder / "plain.csv", header=False, index=False)
    table.to_csv(folder / "heading.csv", index=False)
    (folder / "ragged.csv").write_text("0.1,0.2\n0.3\n")
    (folder / "gap.csv").write_text("0.1,0.2,\n0.3,,\n0.5,0.6,\n")
    table.to_csv(folder / "index.csv", header=False)
    table.to_csv(folder / "both.csv")
    table.add_prefix("caption ").to_csv(folder / "named.csv", index=False)
    np.savez(folder / "two.npz", a=scores, b=scores)
    np.savez(folder / "objects.npz", np.array([{}], dtype=object))
    np.savez(folder / "empty.npz")
    (folder / "array.npz").write_bytes((folder / "s.npy").read_bytes())
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 10000000000), }"
    with zipfile.ZipFile(folder / "endless.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with zipfile.ZipFile(folder / "bomb.npz", "w") as archive:
        archive.writestr("a.npy", (folder / "s.npy").read_bytes())
        archive.infolist()[0].file_size = 1 << 45
    for name, shape in (("overflow", "4611686018427387904, 4"), ("endless", f"{10**18}, {10**18}")):
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}".ljust(117).encode() + b"\n"
        (folder / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    first = np.argsort(-scores, axis=1)[:, :10]
    reranked = np.full_like(scores, -np.inf)
    np.put_along_axis(reranked, first, np.take_along_axis(scores, first, 1), 1)
    np.save(folder / "reranked.npy", reranked)
    torch.save(torch.from_numpy(reranked).half(), folder / "reranked.pt")
    with zipfile.ZipFile(folder / "readme.npz", "w") as archive:
        archive.writestr("readme.txt", "similarities")
    _write_tensors(folder, torch.from_numpy(scores))
    _write_coco(folder)
    (folder / "owners.txt").write_text("".join(f"{owner}\n" for owner in UNEQUAL))
    (folder / "captions.txt").write_text("".join(f"a dog number {number} runs\n" for number in range(100)))


def _write_tensors(folder: Path, scores: torch.Tensor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = {
            "float8": scores.to(torch.float8_e4m3fn),
            "bfloat16": scores.bfloat16(),
            "grad": scores.clone().requires_grad_(),
            "parameter": torch.nn.Parameter(scores),
            "sparse": scores.to_sparse(),
            "csr": scores.to_sparse_csr(),
            "quantised": torch.quantize_per_tensor(scores, 0.01, 0, torch.qint8),
            "complex32": scores.to(torch.complex32),
            "meta": scores.to("meta"),
            "nested": torch.nested.nested_tensor([scores[0], scores[1][:3]]),
            "scalar": torch.tensor(3.0),
            "several": {"dev": scores, "test": scores},
            "checkpoint": {"model": {"weight": scores}, "epoch": 3},
            "endless": torch.sparse_coo_tensor([[0], [0]], [1.0], (10**9, 10**9)),
            "expanded": torch.zeros(1).expand(10**6, 10**6),
            "list": [scores],
        }
        for name, content in tensors.items():
            torch.save(content, folder / f"{name}.pt")


def _write_coco(folder: Path) -> None:
    """The beginning of COCO's test split: 20 images, and ids of another order."""
    image_ids, caption_ids = (given[:n].tolist() for given, n in zip(coco_test_ids(), (20, 100), strict=True))
    other = np.random.default_rng(1).permutation(20)
    orders = {"image_ids": image_ids, "caption_ids": caption_ids, "moved_ids": [image_ids[at] for at in other]}
    orders["moved_caption_ids"] = [caption_ids[5 * at + one] for at in other for one in range(5)]
    for name, listed in orders.items():
        (folder / f"{name}.txt").write_text("".join(f"{number}\n" for number in listed))
    # The caption 7 was rated badly with its own image, and well with another one, as happens in CxC.
    rated = [(c, c // 5, 4.5, "c2i_original") for c in range(100) if c != 7]
    rated += [(7, 1, 1.0, "c2i_original"), (7, 12, 5.0, "c2i_intrasim")]
    lines = [LINE.format(caption_ids[c], image_ids[i], score, method) for c, i, score, method in rated]
    (folder / "sits.csv").write_text("caption,image,agg_score,sampling_method\n" + "".join(lines))
    short = "".join(line.rpartition(",")[0] + "\n" for line in lines)
    (folder / "three_columns.csv").write_text("caption,image,agg_score\n" + short)


def _scores(folder: Path) -> np.ndarray:
    return np.load(folder / "s.npy")


def _masked(folder: Path) -> np.ma.MaskedArray:
    return np.ma.masked_greater(_scores(folder), 2.5)


def _with_positives(name: object, positives: object) -> object:
    return lambda folder: evaluate(_scores(folder), positives={name: positives})


IDS = "--image-ids image_ids.txt --caption-ids caption_ids.txt"
CXC = "evaluate s.npy --cxc sits.csv"
INVERTED = "evaluate s.npy --inference inverted_softmax"

CASES = [
    # Dtypes and layouts.
    right("evaluate huge.npy", "20 images, 100 captions"),
    right("evaluate exact60.npy", "20 images"),
    refused("evaluate int60.npy", "int60.npy[0, 0] is 1152921504606847", "float64 would round", "subtract a constant"),
    refused("evaluate uint60.npy", "float64 would round"),
    refused("evaluate int60.npy --inference csls", "float64 would round"),
    refused(lambda f: recall_at_k(np.load(f / "int60.npy")), "similarity[0, 0] is"),
    refused("evaluate complex.npy", "complex.npy", "complex128", "numbers"),
    refused("evaluate datetime.npy", "datetime64[s]"),
    refused("evaluate struct.npy", "struct.npy", "numbers"),
    refused("evaluate text.npy", "text.npy", "numbers"),
    refused("evaluate none.npy", "[0, 100]"),
    right("evaluate long.npy", "R@k"),
    right("evaluate big_endian.npy", "R@k"),
    right("evaluate fortran.npy", "R@k"),
    right("evaluate zero.npy", "20 of 20 images score all captions equally", "100 of 100 captions"),
    refused(lambda f: recall_at_k(_masked(f)), "similarity", "filled"),
    refused(lambda f: evaluate(_scores(f), _masked(f).T), "masked"),
    refused(lambda f: compare(_scores(f), _masked(f)), "masked"),
    right(lambda f: recall_at_k(np.ma.masked_array(_scores(f))), "{1: 5.0", name="a mask that hides nothing"),
    refused(
        lambda f: Gallery.of(_scores(f), np.ma.masked_equal(np.arange(100) // 5, 3)),
        "hides 5", "100"),
    refused(lambda _: cider_matrix(["a dog"] * 4, np.ma.masked_equal([0, 0, 1, 1], 1)), "image_of_caption"),
    refused(lambda _: recall_at_k([[1.0, 2.0], [3.0]]), "differ"),
    refused(lambda _: recall_at_k([["a", "b"]]), "numbers"),
    refused(lambda f: recall_at_k(_scores(f).astype(object)), "object"),
    refused(lambda f: recall_at_k(_scores(f), ks=(10**12,)), "ks holds 1000000000000"),
    # Embeddings.
    refused("evaluate zeros.npy,captions.npy", "zeros.npy", "2 of", "20 rows", "leave out"),
    refused("evaluate images.npy,caption_zeros.npy", "caption_zeros.npy", "1 of", "100"),
    refused(lambda f: cosine_similarity(*(np.load(f / n) for n in ("zeros.npy", "captions.npy"))), "images: 2 of 20"),
    refused("evaluate image_tiles.npy,captions.npy", "image_tiles.npy", "rows 0 and 20",
            "--image-of-caption"),
    refused("evaluate image_mixed.npy,captions.npy", "image_mixed.npy", "rows 0"),
    refused("evaluate tiles.npy", "tiles.npy", "100", "rows 0 and 20"),
    refused(lambda f: unique_images(np.load(f / "image_tiles.npy")), "rows 0 and 20"),
    right("evaluate image_blocks.npy,captions.npy", "20 images, 100 captions", "every image 5 times"),
    right("evaluate twins.npy,captions.npy", "20 images, 100 captions", "4 and 19"),
    refused("evaluate image_unequal.npy,captions.npy", "image_unequal.npy", "100 rows", "--image-of-caption"),
    refused("evaluate unequal.npy", "unequal.npy", "100 rows", "--image-of-caption"),
    refused("evaluate captions.npy,image_unequal.npy", "image_unequal.npy", "first"),
    right("evaluate image_unequal.npy,captions.npy --image-of-caption owners.txt", "20 images, 100 captions"),
    right("evaluate image_unequal_half.npy,captions.npy --image-of-caption owners.txt", "20 images, 100 captions"),
    right("evaluate unequal.npy --image-of-caption owners.txt", "20 images, 100 captions"),
    refused("evaluate image_mixed.npy,captions.npy --image-of-caption owners.txt", "image_mixed.npy", "to image"),
    # What numbers hang on.
    refused("evaluate s.npy --phi cosines.npy", "cosines.npy", "is -", "numpy.maximum"),
    refused("evaluate s.npy --phi cosines.npy --trec runs --trec-grades", "cosines.npy", "is -"),
    refused("evaluate s.npy --phi phi_zero.npy", "phi_zero.npy", "0 everywhere"),
    refused("evaluate s.npy --phi phi_tiny.npy", "phi_tiny.npy", "e-09"),
    right("evaluate s.npy --phi phi_gaps.npy", "1 of 20 images", "NCS@k kept"),
    right("evaluate distances.npy", "worse than chance"),
    right("evaluate coarse.npy", "R@1 from"),
    right("evaluate few.npy", "has 4 images", "R@5, R@10"),
    right("evaluate subnormal.npy,captions.npy", "20 images, 100 captions"),
    right("evaluate half.npy,captions.npy", "20 images, 100 captions"),
    right("evaluate int8.npy,captions.npy", "20 images, 100 captions"),
    right("evaluate collapsed.npy,captions.npy", "20 images, 100 captions"),
    # Files.
    right("evaluate plain.csv", "20 images, 100 captions"),
    refused("evaluate ragged.csv", "ragged.csv", "row 1", "column 1"),
    refused("evaluate gap.csv", "gap.csv", "row 1", "column 1"),
    refused("evaluate heading.csv", "heading.csv", "header=False"),
    refused("evaluate index.csv", "index.csv", "column"),
    refused("evaluate both.csv", "heading", "column"),
    refused("evaluate named.csv", "row 0", "column 0", "'caption 0'", "header=False"),
    *(right(f"evaluate {name}.pt", "20 images, 100 captions")
      for name in ("float8", "bfloat16", "grad", "parameter", "sparse", "csr", "quantised")),
    refused("evaluate complex32.pt", "complex32.pt", "torch.complex32", "give float32"),
    refused("evaluate meta.pt", "meta.pt", "has no values"),
    refused("evaluate nested.pt", "nested.pt"),
    refused("evaluate scalar.pt", "scalar.pt", "[]"),
    refused("evaluate several.pt", "several.pt", "2 arrays", "several.pt:dev"),
    right("evaluate several.pt:test", "20 images"),
    refused("evaluate checkpoint.pt", "checkpoint.pt"),
    refused("evaluate endless.pt", "endless.pt"),
    refused("evaluate expanded.pt", "expanded.pt"),
    refused("evaluate list.pt", "list.pt", "tensor"),
    refused("evaluate two.npz", "two.npz", "2 arrays"),
    right("evaluate two.npz:b", "20 images"),
    refused("evaluate objects.npz", "objects.npz:arr_0", "Python objects"),
    refused("evaluate endless.npz", "endless.npz:a"),
    refused("evaluate bomb.npz", "bomb.npz:a", f"{1 << 45:,} bytes"),
    *(refused(f"evaluate {name}.npy", f"{name}.npy: ") for name in ("overflow", "endless")),
    *(refused(f"evaluate {n}", n, "-inf", "200 of 2,000", "re-ranker") for n in ("reranked.npy", "reranked.pt")),
    refused("evaluate readme.npz", "readme.npz", "array"),
    refused("evaluate empty.npz", "empty.npz"),
    refused("evaluate array.npz", "array.npy"),
    refused(lambda _: recall_at_k(torch.zeros(2, 4, device="meta")), "has no values"),
    # Re-scoring.
    *(right(f"evaluate huge.npy --inference {method}", "20 images, 100 captions")
      for method in ("csls", "inverted_softmax", "assignment")),
    refused(f"{INVERTED},beta=1e308", "s.npy", "image 0", "caption 0", "smaller beta"),
    refused(f"{INVERTED},beta=nan", "--beta is 'nan'", "above 0"),
    refused(f"{INVERTED},beta=inf", "--beta is 'inf'"),
    refused(f"{INVERTED},beta=-3", "--beta is -3"),
    refused(f"{INVERTED},beta=1e-320", "--beta is 1e-320", "least"),
    right("evaluate s.npy --inference csls,k=1000000000000", "csls"),
    right("evaluate exact60.npy --inference csls", "csls"),
    refused(lambda f: inverted_softmax(_scores(f), beta=1e308), "similarity"),
    refused(lambda f: rescore(_masked(f), "csls"), "masked array"),
    # Numbers on the command line, and comparing.
    refused(f"evaluate s.npy --ks {'9' * 5000}", "--ks", "999...", "from 1 to", name="--ks of 5,000 digits"),
    right("evaluate s.npy --ks 1000000000", "100.00"),
    refused("evaluate s.npy fortran.npy --resamples 1000000000000", "resamples is 1,000,000,000,000", "are usual"),
    refused("evaluate s.npy fortran.npy --confidence 2", "--confidence"),
    refused("evaluate s.npy fortran.npy --confidence nan", "--confidence"),
    right("evaluate A=s.npy B=s.npy --resamples 99", "1.0000"),
    # Lists of positives, and the ids by which they are named.
    right(f"{CXC} {IDS}", "CxC R@k"),
    right(f"{CXC} --image-ids moved_ids.txt --caption-ids moved_caption_ids.txt", "CxC R@k"),
    right(f"evaluate s.npy --cxc three_columns.csv {IDS}", "CxC R@k"),
    refused(f"{CXC} --image-ids moved_ids.txt --caption-ids caption_ids.txt", "caption 0", "--image-ids FILE"),
    refused(f"{CXC} --image-ids image_ids.txt --caption-ids moved_caption_ids.txt", "in another order"),
    refused(f"{CXC} --image-ids image_ids.txt", "sits.csv", "--caption-ids FILE", "--dataset coco-5k"),
    refused(CXC, "sits.csv", "--image-ids", "--caption-ids"),
    refused("evaluate s.npy --instances nowhere.json", "nowhere.json", "--image-ids FILE"),
    right(_with_positives("mine", Positives.symmetric(OWN)), "mine R@k", name="positives of own images"),
    refused(_with_positives("mine", Positives.symmetric(OWN[::-1])), "caption 0", "image 19",
            "100 of 100 captions", "image_of_caption"),
    right(_with_positives("mine", Positives(~OWN, ~OWN, own=np.zeros((20, 100)))), "mine R@k",
          name="positives that leave own images out"),
    refused(_with_positives("my list", Positives.symmetric(OWN)), "'my list'", "'my-list'"),
    refused(_with_positives("", Positives.symmetric(OWN)), "named ''"),
    refused(_with_positives("true", Positives.symmetric(OWN)), "'true R@k'"),
    refused(_with_positives("mine", OWN), "'mine'", "Positives.symmetric"),
    refused(_with_positives("mine", None), "'mine'"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_galleries(case, carry_out):
    carry_out(case)
