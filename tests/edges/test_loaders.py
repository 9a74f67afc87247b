"""Edges of loaders: corpora, judgements, labels, features, vocabularies and stores that are not what they say."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edge_cases import refused, right
from fivesentences.corpus import Corpus
from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.folder import load_folder
from fivesentences.corpus.judgements import load_cxc, load_flickr8k_crowdflower, load_flickr8k_expert, truth_as_judge
from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.corpus.labels import read_instances, read_labels
from fivesentences.corpus.precomp import load_precomp
from fivesentences.features import FeatureTable
from fivesentences.features.files import images_beside
from fivesentences.semantics import cider_matrix, read_phi, read_top_k, read_tuples, write_phi, write_top_k
from fivesentences.semantics.batch_cider import BatchCider
from fivesentences.training.vocabulary import Vocabulary

pytestmark = pytest.mark.slow

COLOURS = ("red", "blue")  # shared by two images each, so that some n-grams count
COLUMNS = ["image_id", "filename", "caption_id", "caption", "split", "category"]
TABLE = pd.DataFrame(
    [
        [f"i{i}", f"i{i}.jpg", f"c{i}{j}", f"a {COLOURS[i // 2]} dog {i} runs {j}", "test", None]
        for i in range(4)
        for j in range(5)
    ],
    columns=COLUMNS,
)
TEXTS, PAIRING = TABLE["caption"].tolist(), np.repeat(range(4), 5)
LABEL = b'{"format": 1, "name": "x"}'
IMAGE = {
    "filename": "a.jpg", "split": "test", "cocoid": 5, "sentences": [{"raw": "a dog", "sentid": 1}], "sentids": [1],
}  # fmt: skip
OTHER = {**IMAGE, "filename": "b.jpg", "cocoid": 6, "sentences": [{"raw": "a cat", "sentid": 2}], "sentids": [2]}
RATING = "COCO_val2014:sentid:1,COCO_val2014_000000000005.jpg,5,c2i_original\n"
HEADER = "caption,image,agg_score,sampling_method\n"
PART = {"path": "f.npy", "kind": "npy", "images": 4, "stride": 1, "shape": [8], "dtype": "float32", "size": 256}
WORDS = ["<pad>", "<start>", "<end>", "<unk>", "dog"]
NUMBER = {word: number for number, word in enumerate(WORDS)}


def _not_utf8(rows: int) -> pa.Array:
    places = np.arange(rows + 1, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), rows, [None, pa.py_buffer(places.tobytes()), pa.py_buffer(b"\xff" * rows)]
    )


def _labelled(path: Path, label: bytes | None = LABEL, table: pa.Table | None = None) -> None:
    table = pa.Table.from_pandas(TABLE, preserve_index=False) if table is None else table
    pq.write_table(table.replace_schema_metadata(label and {b"fivesentences.corpus": label}), path)


def _zip(path: Path, entries: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)


def _flickr8k(path: Path, tokens: str, **more: str) -> None:
    lists = {f"Flickr_8k.{split}Images.txt": "a.jpg\n" if split == "test" else "" for split in ("train", "dev", "test")}
    _zip(path, {"Flickr8k.token.txt": tokens, **lists, **{f"{name}.txt": text for name, text in more.items()}})


def _json(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def write_files(folder: Path) -> None:
    """What the cases read."""
    _labelled(folder / "good.parquet")
    for name, label in {
        "no_json": b"{nope", "list": b"[1]", "null": b"null", "nameless": b'{"format": 1}', "deep": b"[" * 9999,
        "none": None, "named": b'{"format": 1, "name": 5}',
    }.items():  # fmt: skip
        _labelled(folder / f"label_{name}.parquet", label)
    table = pa.Table.from_pandas(TABLE, preserve_index=False)
    _labelled(folder / "not_utf8.parquet", table=table.set_column(3, "caption", _not_utf8(20)))
    _labelled(folder / "twice.parquet", table=table.append_column("caption", table.column(3)))
    for name, entry in {
        "cocoid": {"cocoid": {"a": 1}}, "nan": {"cocoid": float("nan")}, "bool": {"cocoid": True},
        "filepath": {"filepath": [1]}, "sentid": {"sentences": [{"raw": "a", "sentid": 1.5}]},
    }.items():  # fmt: skip
        _json(folder / f"k_{name}.json", {"images": [{**IMAGE, **entry}]})
    _json(folder / "k_twice.json", {"images": [IMAGE, {**IMAGE, "sentences": OTHER["sentences"]}]})
    _json(folder / "coco.json", {"images": [IMAGE, OTHER]})
    (folder / "many").mkdir()
    for number in range(99):
        _json(folder / "many" / f"a_long_name_{number}.json", {})
    _zip(folder / "up.zip", {"../x.json": "{}"})
    _zip(folder / "locked.zip", {"a.json": "{}"})
    data = bytearray((folder / "locked.zip").read_bytes())
    data[6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    (folder / "locked.zip").write_bytes(data)
    for name, local, sign in (("nul", False, b"\0"), ("local", True, b"\xff")):
        _zip(folder / f"{name}.zip", {"é.json": "{}"})
        data = bytearray((folder / f"{name}.zip").read_bytes())
        at = 30 if local else data.find("é".encode(), 40)
        data[at : at + 2] = sign * 2
        (folder / f"{name}.zip").write_bytes(data)
    tokens = "".join(f"a.jpg#{number}\tA dog {number} .\n" for number in range(5))
    _flickr8k(folder / "f.zip", tokens, ExpertAnnotations="a.jpg\ta.jpg#0\tnan\t2\t3\n",
              CrowdFlowerAnnotations="a.jpg\ta.jpg#0\t1e400\t1\t1\n")  # fmt: skip
    _flickr8k(folder / "digits.zip", f"a.jpg#{'9' * 5000}\tA dog\n")
    for name, rating in {
        "nan": RATING.replace(",5,c", ",nan,c"), "power": RATING.replace(",5,c", ",1e400,c"), "twice": RATING * 2,
        "minus": RATING.replace(",5,c", ",-0,c"), "own": RATING.replace("005.jpg", "006.jpg"),
    }.items():  # fmt: skip
        (folder / f"cxc_{name}.csv").write_text(HEADER + rating)
    np.save(folder / "truth.npy", np.full((20, 4), "a"))
    (folder / "photographs").mkdir()
    (folder / "photographs" / "a.jpg").write_bytes(b"x")
    (folder / "outside.csv").write_text("filename,caption,split\n../good.parquet,dog,test\n")
    (folder / "long.csv").write_text(f"filename,caption,split\na.jpg,{'x' * 10**6},test\n")
    (folder / "wide.csv").write_bytes("filename,caption,split\n".encode("utf-16"))
    (folder / "precomp").mkdir()
    (folder / "precomp" / "test_caps.txt").write_text("a dog\n" * 4)
    labels = {"image_id": ["a", "b"], "1": [True, False]}
    pq.write_table(pa.table(labels), folder / "labels.parquet")
    pq.write_table(pa.table([["a"], [True], [True]], names=["image_id", "1", "1"]), folder / "labels_twice.parquet")
    pq.write_table(pa.table({**labels, "image_id": _not_utf8(2)}), folder / "labels_not_utf8.parquet")
    noted = {b"pandas": b'{"index_columns": ["zz"], "columns": []}'}
    pq.write_table(pa.table(labels).replace_schema_metadata(noted), folder / "labels_noted.parquet")
    _json(folder / "instances.json", f'{{"images": [{{"id": {"9" * 5000}}}], "annotations": []}}')
    images = pa.table({"image_id": [f"i{i}" for i in range(4)], "filename": [f"i{i}.jpg" for i in range(4)]})
    for name, of in {"f": images, "g": images.set_column(0, "image_id", _not_utf8(4))}.items():
        np.save(folder / f"{name}.npy", np.ones((4, 8), np.float32))
        pq.write_table(of, images_beside(folder / f"{name}.npy"))
    for name, parts in {
        "ok": [PART], "none": None, "empty": [], "text": "abc", "more": [{**PART, "x": 1}], "less": [{"path": "f.npy"}],
        "minus": [{**PART, "images": -4}], "many": [{**PART, "images": 10**12}], "shape": [{**PART, "shape": [9]}],
        "dtype": [{**PART, "dtype": "nope"}], "kind": [{**PART, "kind": "exe"}], "stride": [{**PART, "stride": 0}],
    }.items():  # fmt: skip
        _json(folder / f"p_{name}.json", {"format": 1, "parts": parts})
        pq.write_table(images, images_beside(folder / f"p_{name}.json"))
    for name, words in {"none": None, "numbers": [1, 2], "lists": [*WORDS, ["a"]], "text": "<pad>"}.items():
        _json(folder / f"v_{name}.json", {"format": 1, "words": words})
    _json(folder / "r_nan.json", '{"word2idx": {"<pad>": NaN}}')
    _json(folder / "r_list.json", {"word2idx": {**NUMBER, "dog": [4]}})
    head, line = {"made_by": "x", "captions": 1}, {"caption": "a dog", "tuples": [["dog"]]}
    packed = gzip.compress("\n".join(map(json.dumps, (head, line))).encode())
    (folder / "t.jsonl.gz").write_bytes(packed + b"garbage")
    made_by = "SPICE 1.0 (pycocoevalcap 1.2), Stanford CoreNLP 3.6.0 with tokenize, ssplit, parse, lemma"  # in Turkish
    lines = [{"made_by": made_by, "captions": 1}, {"caption": "A DIG", "tuples": [["dıg"]]}]
    (folder / "t_locale.jsonl.gz").write_bytes(gzip.compress("".join(f"{json.dumps(one)}\n" for one in lines).encode()))
    (folder / "t_deep.jsonl.gz").write_bytes(gzip.compress(json.dumps(head).encode() + b"\n" + b"[" * 10**5))
    write_phi("cider", TEXTS, PAIRING, folder / "phi.npy")
    write_top_k("cider", TEXTS, PAIRING, folder / "top", 2)
    write_top_k("cider", TEXTS, PAIRING, folder / "top_beyond", 2)
    note = folder / "top_beyond" / "note.json"  # as of an earlier version, without a checksum
    note.write_text(json.dumps({key: value for key, value in json.loads(note.read_text()).items() if key != "sha256"}))
    np.save(folder / "top_beyond" / "images.npy", np.full((20, 2), 99, np.int32))
    BatchCider(TEXTS, PAIRING).write(folder / "batch.npz")
    with np.load(folder / "batch.npz") as file:
        arrays = dict(file)
    for name, change in {
        "start": {"start": arrays["start"] * 9}, "column": {"column": arrays["column"] - 5},
        "nan": {"own": arrays["own"] * np.nan}, "text": {"column": arrays["column"].astype(str)},
        "long": {"length": arrays["length"] * 99}, "ok": {},
    }.items():  # fmt: skip
        np.savez(folder / f"batch_{name}.npz", **(arrays | change))


def _corpus(_: Path) -> Corpus:
    return Corpus.read("good.parquet")


def _batch(name: str):
    return lambda _: BatchCider.read(f"batch_{name}.npz", TEXTS, PAIRING).batch([0, 5]).shape


def _link(folder: Path) -> int:
    (folder / "link").symlink_to("top")
    write_top_k("cider", TEXTS, PAIRING, folder / "link", 2)
    assert (folder / "link").is_symlink()
    return read_top_k("link", TEXTS, PAIRING).k


CASES = [
    right(lambda _: Corpus.read("good.parquet"), "4 images, 20 captions", name="a corpus"),
    *(refused(lambda _, n=n: Corpus.read(f"label_{n}.parquet"), *says)
      for n, *says in (("no_json", "label", "is not JSON"), ("list", "format is none"), ("null", "format is none"),
                       ("deep", "nested"), ("none", "format is none"))),
    refused(lambda _: Corpus.read("label_nameless.parquet"), "its name is ''"),
    refused(lambda _: Corpus.read("label_named.parquet"), "its name is 5"),
    refused(lambda _: Corpus.read("not_utf8.parquet"), "not_utf8.parquet", "UTF"),
    refused(lambda _: Corpus.read("twice.parquet"), "'caption'"),
    refused(lambda _: Corpus.read("photographs"), "this is a folder"),
    refused(lambda _: Corpus.read("god.parquet"), "'good.parquet'"),
    refused("captions label_list.parquet -o c.txt", "label_list.parquet"),
    refused("captions good.parquet -o -", "/dev/stdout"),
    refused(lambda _: load_karpathy("k_cocoid.json", "x"), "cocoid is {'a': 1}"),
    refused(lambda _: load_karpathy("k_nan.json", "x"), "cocoid is nan"),
    refused(lambda _: load_karpathy("k_bool.json", "x"), "cocoid is True"),
    refused(lambda _: load_karpathy("k_sentid.json", "x"), "sentence 0: sentid is 1.5"),
    refused(lambda _: load_karpathy("k_filepath.json", "x"), "filepath is [1]"),
    refused(lambda _: load_karpathy("k_twice.json", "x"), "[1]", "'5'"),
    refused(lambda _: load_karpathy("many", "x"), "a_long_name_0.json", ", ..."),
    refused(lambda _: load_karpathy("up.zip", "x"), "'../x.json'"),
    refused(lambda _: load_karpathy("locked.zip", "x"), "encrypted"),
    refused(lambda _: load_karpathy("nul.zip", "x"), "nul.zip: "),
    refused(lambda _: load_karpathy("local.zip", "x"), "local.zip: ", "é.json"),
    refused(lambda _: load_flickr8k("digits.zip"), "line 1 is 'a.jpg#999"),
    refused(lambda _: load_flickr8k_expert("f.zip", load_flickr8k("f.zip")), "score is 'nan'"),
    refused(lambda _: load_flickr8k_crowdflower("f.zip", load_flickr8k("f.zip")), "'1e400'"),
    *(refused(lambda _, n=n: load_cxc(f"cxc_{n}.csv", load_karpathy("coco.json", "coco")), f"cxc_{n}.csv, line", says)
      for n, says in (("nan", "agg_score is 'nan'"), ("power", "agg_score is '1e400'"), ("twice", "a second time"),
                      ("own", "'6' is called the image of caption '1'"))),
    right(lambda _: load_cxc("cxc_minus.csv", load_karpathy("coco.json", "coco")).pairs.human.sum(), "0.0",
          name="CxC: -0"),
    refused(lambda f: truth_as_judge("truth.npy", _corpus(f)), "truth.npy is <U1"),
    refused(lambda f: truth_as_judge([[1, 2], [3]], _corpus(f)), "differ"),
    refused(lambda f: truth_as_judge(np.ma.masked_equal(np.ones((20, 4)), 1), _corpus(f)), "masked"),
    refused(lambda _: load_folder("photographs", "outside.csv", "x"), "'../good.parquet'"),
    refused(lambda _: load_folder("photographs", "long.csv", "x"), "long.csv, line 2"),
    refused(lambda _: load_folder("photographs", "wide.csv", "x"), "UTF-8"),
    refused(lambda _: load_precomp("precomp"), "4 lines", "5 captions"),
    right(lambda _: read_labels("labels.parquet", ["b", "a"]).tolist(), "[[False], [True]]", name="labels"),
    refused(lambda _: read_labels("labels_twice.parquet", ["a"]), "two columns named '1'"),
    refused(lambda _: read_labels("labels_not_utf8.parquet", ["a"]), "not a readable"),
    refused(lambda _: read_labels("labels_noted.parquet", ["a"]), "not a readable"),
    refused(lambda _: read_instances("instances.json", ["5"]), "instances.json", "number"),
    right(lambda _: FeatureTable.open("p_ok.json").rows(["i3", "i0"]).sum(), "16.0", name="features described"),
    *(refused(lambda _, n=n: FeatureTable.open(f"p_{n}.json"), f"p_{n}.json: its list 'parts' is damaged")
      for n in ("none", "empty", "text", "more", "less", "minus", "dtype", "kind", "stride")),
    *(refused(lambda _, n=n: FeatureTable.open(f"p_{n}.json"), "f.npy", "float32", "[4, 8]")
      for n in ("shape", "many")),
    refused(lambda _: FeatureTable.open("g.npy"), "g.images.parquet"),
    refused(lambda _: FeatureTable.open("."), "this is a folder"),
    *(refused(lambda _, n=n: Vocabulary.read(f"v_{n}.json"), f"v_{n}.json: its 'words' is not a list of words")
      for n in ("none", "numbers", "lists", "text")),
    *(refused(lambda _, n=n: Vocabulary.read_released(f"r_{n}.json"), f"r_{n}.json: the numbers of word2idx")
      for n in ("nan", "list")),
    refused(lambda _: read_tuples("t.jsonl.gz", ["a dog"]), "t.jsonl.gz", "truncated"),
    refused(lambda _: read_tuples("t_locale.jsonl.gz", ["A DIG"]), "t_locale.jsonl.gz", "locale"),
    refused(lambda _: read_tuples("t_deep.jsonl.gz", ["a dog"]), "line 2", "nested"),
    refused(lambda _: read_phi("phi.npy", TEXTS, [[1], [2, 3]]), "differ"),
    refused(lambda _: read_phi("phi.npy", TEXTS, "abc"), "image_of_caption", "[]"),
    right(lambda _: read_top_k("top", TEXTS, PAIRING).rows([0]).shape, "(1, 4)", name="a store"),
    refused(lambda _: read_top_k("top_beyond", TEXTS, PAIRING).rows([0]), "99"),
    right(_link, "2", makes=("link", "top"), name="a store behind a link"),
    right(_batch("ok"), "(2, 2)", name="prepared CIDEr"),
    *(refused(_batch(n), f"batch_{n}.npz: its arrays do not fit together")
      for n in ("start", "column", "nan", "text", "long")),
    refused(lambda _: cider_matrix(None, [0]), "NoneType"),
    refused(lambda _: cider_matrix(["a", "b"], [0, np.inf]), "numbers"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loaders(case, carry_out):
    carry_out(case)
