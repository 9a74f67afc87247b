"""Captions, annotations and judgements of a rehearsal in their original formats: Karpathy's JSON, COCO's, CxC's."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences.rehearsal.images import UpstreamImage, add_entry
from fivesentences.scenes import truth_of
from fivesentences.scenes.world import KINDS
from fivesentences.storage import replacing, write_lines

WORST, BEST = 0.0, 5.0  # of CxC's ratings
STEP = 7  # the n-th caption of an image was judged with the image 1 + STEP * n further on, too
MARKS = re.compile(r"[^\w\s]")  # of punctuation, which the releases' tokeniser keeps


def write_karpathy(path: Path, datasets: Mapping[str, Sequence[UpstreamImage]]) -> None:
    """``caption_datasets.zip``: one ``dataset_<name>.json`` for each dataset."""
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, images in datasets.items():
            content = {"images": [_karpathy_image(image) for image in images], "dataset": name}
            add_entry(archive, f"dataset_{name}.json", json.dumps(content))


def _karpathy_image(image: UpstreamImage) -> dict[str, Any]:
    sentids = [image.first_sentence + number for number in range(len(image.captions))]
    of_coco = {} if image.coco_id is None else {"filepath": image.folder, "cocoid": image.coco_id}
    return of_coco | {
        "sentids": sentids,
        "filename": image.filename,
        "imgid": image.number,
        "split": image.split,
        "sentences": [
            {"tokens": words_of(caption), "raw": caption, "imgid": image.number, "sentid": sentid}
            for sentid, caption in zip(sentids, image.captions, strict=True)
        ],
    }


def words_of(caption: str) -> list[str]:
    """Words in lower case without punctuation, as Karpathy's files have them."""
    return re.findall(r"[a-z0-9']+", caption.lower())


def write_annotations(path: Path, images: Sequence[UpstreamImage]) -> None:
    """``annotations_trainval2014.zip``: instances and captions of both parts of COCO."""
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in ("train2014", "val2014"):
            part = [image for image in images if image.folder == folder]
            for name, content in (("instances", _instances(part)), ("captions", _captions(part))):
                add_entry(archive, f"annotations/{name}_{folder}.json", json.dumps(content))


def _listed(images: Sequence[UpstreamImage]) -> list[dict[str, Any]]:
    return [{"id": image.coco_id, "file_name": image.filename, "width": 224, "height": 168} for image in images]


def _instances(images: Sequence[UpstreamImage]) -> dict[str, Any]:
    pairs = [(image.coco_id, kind) for image in images for kind in image.kinds]
    return {
        "images": _listed(images),
        "annotations": [
            {"id": number, "image_id": coco_id, "category_id": kind, "iscrowd": 0}
            for number, (coco_id, kind) in enumerate(pairs, 1)
        ],
        "categories": [{"id": number, "name": kind} for number, kind in enumerate(KINDS, 1)],
    }


def _captions(images: Sequence[UpstreamImage]) -> dict[str, Any]:
    found = [
        {"image_id": image.coco_id, "id": image.first_sentence + number, "caption": caption}
        for image in images
        for number, caption in enumerate(image.captions)
    ]
    return {"images": _listed(images), "annotations": found}


def write_cxc(path: Path, images: Sequence[UpstreamImage]) -> None:
    """``sits_test.csv``: test captions with their own image and with others, rated by what is true of them."""
    test = [image for image in images if image.split == "test"]
    truth = truth_of([image.described for image in test])  # [captions, images]
    lines = ["caption,image,agg_score,sampling_method"]
    for row, image in enumerate(test):
        for number in range(len(image.captions)):
            for other in {row, (row + 1 + number * STEP) % len(test)}:
                score = WORST + (BEST - WORST) * float(truth[row * len(image.captions) + number, other])
                method = "c2i_original" if other == row else "c2i_intrasim"
                sentence = f"COCO_val2014:sentid:{image.first_sentence + number}"
                lines.append(f"{sentence},{test[other].filename},{score:.4f},{method}")
    write_lines(path, lines)


def write_vocabulary(path: Path, images: Sequence[UpstreamImage]) -> None:
    """``<name>_precomp_vocab.json``: words and punctuation marks of the captions, numbered as the releases do."""
    texts = [caption for image in images for caption in image.captions]
    words = sorted({word for text in texts for word in (*words_of(text), *MARKS.findall(text))})
    number_of = {word: number for number, word in enumerate(["<pad>", "<start>", "<end>", "<unk>", *words])}
    content = {
        "word2idx": number_of,
        "idx2word": {str(number): word for word, number in number_of.items()},
        "idx": len(number_of),
    }
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
