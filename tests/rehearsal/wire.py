"""The papers' scale from the wire: stand-ins for every download, at their hosts, in their packaging, on this machine.

    PYTHONPATH=tests uv run python -m rehearsal.wire FOLDER              # from an empty folder to all its pages
    PYTHONPATH=tests uv run python -m rehearsal.wire FOLDER -- COMMAND   # another command while the hosts are up

``FOLDER/upstream`` gets the files of ``upstream.py``, ``FOLDER/config`` a catalogue with the entries of
``config/datasets.yaml``, whose addresses lead to a server in this process and whose checksums and sizes are those of
the stand-ins where the originals' are known, and ``FOLDER/data`` one file: the consents. Everything else comes from the
server. It cuts some files off halfway, once; others are gone from their first address, or have moved; so that files are
resumed, and further addresses are asked. At the end it says whether they were.

What no machine of ours has seen is guessed: whether Kaggle's archive holds folders or archives (here one of each).
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import io
import json
import os
import pickle
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd
import torch
import yaml

from fivesentences.config.consents import write_consent
from fivesentences.config.datasets import Catalogue, CatalogueFile
from fivesentences.config.files import project_folder
from fivesentences.config.reading import read
from fivesentences.corpus import Photographs
from fivesentences.corpus.download import CHUNK
from fivesentences.documents import read_yaml
from fivesentences.features.detectors.bottom_up import BottomUpAttention, Settings
from fivesentences.features.detectors.extraction import extract_regions
from fivesentences.features.formats import convert
from fivesentences.storage import md5_of, sha256_of
from rar import rar_of
from rehearsal.upstream import Sizes, add_entry, detector_weights, images_of, jpeg_of, write_upstream, write_weights

SCALE = Path(__file__).resolve().with_name("rehearsal.yaml")
PASCAL = "vision.cs.uiuc.edu/pascal-sentences/"
NUS = "lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide"
# Some of each kind of host and packaging, by what their address ends in.
CUT = ("train2014.zip", "flickr30k-images.zip", "scan-features", "NUS_WID_Low_Level_Features.rar",
       "resnet152.tv_in1k/resolve/main/model.safetensors")  # fmt: skip
GONE = ("caption_datasets.zip", "wikipedia_dataset.zip", "Groundtruth.zip")  # from the first address, with a second
MOVED = ("scan-features",)  # Kaggle sends on to another host
STORAGE = "/storage"


# --- packaging --------------------------------------------------------------------------------------------------------


def offer(upstream: Path, packed: Path, catalogue: Catalogue, sizes: Sizes, seed: int = 2014) -> dict[str, Path]:
    """Pack the files of ``write_upstream`` as their hosts do.

    Args:
        upstream: Folder with ``mirror`` and ``data``.
        packed: Folder for what is packed here.
        catalogue: The project's own.
        sizes: How many of each image.
        seed: Seed of what ``upstream`` lacks.

    Returns:
        The file at each address without its scheme, for every address of the catalogue but copies of archives.
    """
    mirror, data = upstream / "mirror", upstream / "data"
    packed.mkdir(parents=True, exist_ok=True)
    made: dict[str, Path] = {}
    for name in ("ImageList", "Groundtruth", "NUS_WID_Tags"):
        made[f"nus_wide_archives/{name}.zip"] = _zip(packed / f"{name}.zip", data / "nus_wide", name)
    low = data / "nus_wide" / "Low_Level_Features"
    rar = {f"{low.name}/{path.name}": path.read_bytes() for path in sorted(low.iterdir())}
    made["nus_wide_archives/NUS_WID_Low_Level_Features.rar"] = _write(packed / "low_level.rar", rar_of(rar))
    made["scan_features/f30k_precomp.tar.gz"] = _tar(packed / "f30k_precomp.tar.gz", data / "f30k_precomp")
    inner = _zip(packed / "coco_precomp.zip", data, "coco_precomp")
    both = _zip(packed / "scan-features.zip", data, "f30k_precomp")
    with zipfile.ZipFile(both, "a", zipfile.ZIP_STORED) as archive:
        add_entry(archive, inner.name, inner.read_bytes())
    made["scan_features/scan-features.zip"] = both
    made |= _flickr8k(packed, sizes, seed)
    made |= _pickles(packed, seed)
    sample = [file.path for file in catalogue.datasets["butd_sample"].files.values()]
    made |= _sample(packed, made["weights/faster_rcnn_from_caffe_attr.pkl"], sample, seed)
    write_weights(packed / "mobilenet.safetensors", "mobilenetv2_100", seed)
    made["weights/mobilenetv2_100.ra_in1k-55ea4fb3.safetensors"] = packed / "mobilenet.safetensors"
    captions = json.loads((mirror / "pascal_sentences/pascal_sentences.json").read_text(encoding="utf-8"))
    page = _write(packed / "pascal_sentences.html", page_of(captions).encode())
    made["pascal_sentences/pascal_sentences.html"] = page
    offered: dict[str, Path] = {}
    for entry in catalogue.datasets.values():
        for file in (file for file in entry.files.values() if file.url is not None):
            for url in (file.url, *file.more_urls):
                if "id_/" not in url:
                    offered[url.partition("://")[2]] = made.get(file.path, mirror / file.path)
    with zipfile.ZipFile(mirror / "pascal_sentences/photographs.zip") as archive:
        for name in archive.namelist():
            photograph = packed / name
            photograph.parent.mkdir(parents=True, exist_ok=True)
            offered[PASCAL + name.partition("/")[2]] = _write(photograph, archive.read(name))
    return offered


def page_of(captions: dict[str, dict[str, Any]]) -> str:
    """The page of Pascal Sentences: a table of photographs, and in each row a table of sentences."""
    rows = [
        f'<tr>\n<td><img src="{about["category"]}/{name}"></td>\n<td><table>\n'
        + "".join(f"<tr><td> {html.escape(caption)}</td></tr>\n" for caption in about["captions"])
        + "</table></td>\n</tr>\n"
        for name, about in captions.items()
    ]
    return f"<html>\n<body>\n<h1>Pascal Sentences</h1>\n<table border=1>\n{''.join(rows)}</table>\n</body>\n</html>\n"


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _zip(path: Path, above: Path, folder: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(one for one in (above / folder).rglob("*") if one.is_file()):
            add_entry(archive, file.relative_to(above).as_posix(), file.read_bytes())
    return path


def _tar(path: Path, folder: Path) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.add(folder, folder.name)
    return path


def _flickr8k(packed: Path, sizes: Sizes, seed: int) -> dict[str, Path]:
    """Flickr8k's two archives, of as many images as stand in for Flickr30K."""
    images = images_of("flickr30k", seed + 8, sizes.flickr30k)
    names = {"train": "train", "val": "dev", "test": "test"}
    text, photographs = packed / "Flickr8k_text.zip", packed / "Flickr8k_Dataset.zip"
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = [f"{one.filename}#{n}\t{text}" for one in images for n, text in enumerate(one.captions.values())]
        add_entry(archive, "Flickr8k.token.txt", "\n".join(lines) + "\n")
        for split, name in names.items():
            listed = [one.filename for one in images if one.split == split]
            add_entry(archive, f"Flickr_8k.{name}Images.txt", "\n".join(listed) + "\n")
    with zipfile.ZipFile(photographs, "w", zipfile.ZIP_STORED) as archive:
        for one in images:
            add_entry(archive, f"Flicker8k_Dataset/{one.filename}", jpeg_of(one.described))
    return {"flickr8k/Flickr8k_text.zip": text, "flickr8k/Flickr8k_Dataset.zip": photographs}


def _pickles(packed: Path, seed: int) -> dict[str, Path]:
    """Files like those of the detectors' weights, of a narrow network."""
    tensors = detector_weights("d2", seed)
    arrays = {name: values.numpy() for name, values in tensors.items()}
    caffe = _write(packed / "faster_rcnn_from_caffe_attr.pkl", pickle.dumps({"model": arrays}, protocol=2))
    made = {"weights/faster_rcnn_from_caffe_attr.pkl": caffe}
    for name, content in (
        ("frcnn-vg-finetuned.bin", tensors),
        ("bua-caffe-frcn-r101_with_attributes.pth", {"model": detector_weights("caffe", seed)}),
    ):
        buffer = io.BytesIO()
        torch.save(content, buffer)
        made[f"weights/{name}"] = _write(packed / name, buffer.getvalue())
    return made


def _sample(packed: Path, weights: Path, paths: list[str], seed: int) -> dict[str, Path]:
    """Photographs with "released" regions: what the detector of these weights finds in them, as rehearsal.yaml asks."""
    own = read_yaml(SCALE)["own_grid_features"]
    folder, regions = packed / "butd_sample", packed / "butd_sample.npy"
    folder.mkdir(exist_ok=True)
    scenes = images_of("coco", seed + 9, {"train": len([path for path in paths if path.endswith(".jpg")])})
    names = [PurePosixPath(path).name for path in paths if path.endswith(".jpg")]
    for name, one in zip(names, scenes, strict=True):
        _write(folder / name, jpeg_of(one.described))
    images = pd.DataFrame({"image_id": [Path(name).stem for name in names], "filename": names})
    sizes = {"least": own["regions"], "most": own["regions"], "short": own["short"], "long": own["long"]}
    detector = BottomUpAttention(weights, "d2", Settings(**sizes))
    extract_regions(Photographs(folder), images, detector, regions)
    beyond = ("scores", "classes", "attributes", "attribute_scores", "filenames")  # what our writer of TSV leaves out
    convert([regions], packed / "butd_sample.tsv", drop=beyond)
    return {path: packed / "butd_sample.tsv" if path.endswith(".tsv") else folder / Path(path).name for path in paths}


# --- hosts ------------------------------------------------------------------------------------------------------------


@dataclass
class Hosts:
    """What the server offers, what goes wrong, and what it was asked for.

    Attributes:
        files: File at each address without its scheme.
        cut, gone, moved: Ends of addresses that are cut off once, answer 404, and send on to another host.
        asked: Address, without its scheme, the byte from which it was asked for, and whether of a copy in an archive.
    """

    files: dict[str, Path]
    cut: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    asked: list[tuple[str, int, bool]] = field(default_factory=list)
    url: str = ""
    _cut_already: set[str] = field(default_factory=set)

    def cuts(self, address: str) -> bool:
        """Return True the first time that a file to cut off is asked for."""
        if not address.endswith(self.cut) or address in self._cut_already or not self.cut:
            return False
        self._cut_already.add(address)
        return True

    def faults_overcome(self) -> list[str]:
        """Return a sentence for each fault that somebody met, and raise if it was not overcome.

        Raises:
            SystemExit: If a file that was cut off was not resumed, or one that is gone was not asked for elsewhere.
        """
        said = []
        for address in sorted(self._cut_already):
            begun = [start for place, start, copy in self.asked if place == address]
            kept = self.files[address].stat().st_size // 2 >= CHUNK  # of less, nothing is written
            if len(begun) < 2 or (kept and not any(begun)):
                raise SystemExit(f"{address} was cut off halfway, and nobody resumed it")
            said.append(f"cut off halfway and {'resumed' if any(begun) else 'fetched again'}: {address}")
        first = {place for place, _, copy in self.asked if not copy and self.is_gone(place)}
        others = {place.rpartition("/")[2] for place, _, copy in self.asked if copy or not self.is_gone(place)}
        for address in sorted(first):
            if address.rpartition("/")[2] not in others:
                raise SystemExit(f"{address} is gone, and nobody asked the second address")
            said.append(f"gone, and fetched from the second address: {address}")
        return said

    def is_gone(self, address: str) -> bool:
        """Whether the first address of a file is gone; the hub is a second one."""
        return bool(self.gone) and address.endswith(self.gone) and not address.startswith("huggingface.co/")


class Answer(BaseHTTPRequestHandler):
    """A file from the requested byte on, or what goes wrong."""

    def do_GET(self) -> None:
        server: Any = self.server
        hosts: Hosts = server.hosts
        path, start = unquote(self.path), _start_of(self.headers.get("Range"))
        is_copy, is_sent_on = "id_/" in path, path.startswith(f"{STORAGE}/")
        address = (urlsplit(path.partition("id_/")[2]).path if is_copy else path.removeprefix(STORAGE)).removeprefix(
            "/"
        )
        hosts.asked.append((address, start, is_copy))
        file = hosts.files.get(address)
        if file is None or (hosts.is_gone(address) and not is_copy):
            self.send_error(404)
        elif hosts.moved and address.endswith(hosts.moved) and not is_sent_on:
            self.send_response(302)
            self.send_header("Location", f"{hosts.url}{STORAGE}/{address}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send(file, address, start, hosts)

    def _send(self, file: Path, address: str, start: int, hosts: Hosts) -> None:
        size = file.stat().st_size
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - start))
        self.send_header("ETag", f'"{hashlib.sha256(f"{address} {size}".encode()).hexdigest()[:16]}"')
        self.end_headers()
        left = size // 2 if hosts.cuts(address) else size - start
        with file.open("rb") as opened, contextlib.suppress(ConnectionError):  # who asks may go
            opened.seek(start)
            while left and (block := opened.read(min(left, 1 << 18))):
                self.wfile.write(block)
                left -= len(block)

    def log_message(self, *_: object) -> None:
        pass


def _start_of(asked: str | None) -> int:
    found = re.fullmatch(r"bytes=(\d+)-", asked or "")
    return int(found[1]) if found else 0


@contextmanager
def running(hosts: Hosts) -> Iterator[Hosts]:
    """Run the server of these hosts in a thread."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        given: Any = server
        given.hosts, given.daemon_threads = hosts, True
        hosts.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield hosts
        server.shutdown()


# --- configuration ----------------------------------------------------------------------------------------------------


def catalogue_at(hosts: Hosts, catalogue: Catalogue) -> dict[str, Any]:
    """Return the catalogue with addresses at the server, and checksums and sizes of stand-ins where they are known."""
    content: dict[str, Any] = catalogue.model_dump(mode="json", exclude_defaults=True)
    for name, entry in catalogue.datasets.items():
        for key, file in entry.files.items():
            content["datasets"][name]["files"][key] |= _at(hosts, file)
    return content


def _at(hosts: Hosts, file: CatalogueFile) -> dict[str, Any]:
    if file.url is None:
        return {"url": None, "sha256": file.sha256, "size": file.size}
    stand_in = hosts.files[file.url.partition("://")[2]]
    found: dict[str, Any] = {
        "url": _moved(hosts, file.url),
        "sha256": None if file.sha256 is None else sha256_of(stand_in),
        "size": None if file.size is None else stand_in.stat().st_size,
    }
    found |= {} if file.md5 is None else {"md5": md5_of(stand_in)}
    return found | ({"more_urls": [_moved(hosts, url) for url in file.more_urls]} if file.more_urls else {})


def _moved(hosts: Hosts, url: str) -> str:
    """Return an address at the server; of a copy in a web archive, that of the copied address there too."""
    before, is_copy, copied = url.partition("id_/")
    at = f"{hosts.url}/{before.partition('://')[2]}"
    return f"{at}id_/{_moved(hosts, copied)}" if is_copy else at


def write_config(folder: Path, hosts: Hosts, catalogue: Catalogue) -> Path:
    """Write the scale with its catalogue, and the consents that a person would give; returns the scale's file."""
    config, data = folder / "config", folder / "data"
    config.mkdir(parents=True, exist_ok=True)
    data.mkdir(exist_ok=True)
    (config / "datasets.yaml").write_text(yaml.safe_dump(catalogue_at(hosts, catalogue), sort_keys=False))
    scale = config / "rehearsal.yaml"
    scale.write_text(f"extends: {os.path.relpath(SCALE, config.resolve())}\n")
    for entry in catalogue.datasets.values():
        for file in entry.files.values():
            if file.consent is not None:
                write_consent(file.consent, data)
    return scale


def main(folder: Path, command: list[str]) -> int:
    """Run a command while the hosts are up; default: the rehearsal."""
    catalogue, sizes = read(Catalogue, project_folder() / "datasets.yaml"), Sizes()
    upstream = folder / "upstream"
    write_upstream(upstream, sizes)
    hosts = Hosts(offer(upstream, upstream / "packed", catalogue, sizes), CUT, GONE, MOVED)
    with running(hosts):
        scale = write_config(folder, hosts, catalogue)
        environment = {name: value for name, value in os.environ.items() if name != "FIVESENTENCES_MIRROR"}
        default = ["snakemake", "--directory", str(folder), "--configfile", str(scale)]
        code = subprocess.run(command or default, env=environment).returncode
    print(f"The hosts were asked {len(hosts.asked):,} times.", *hosts.faults_overcome(), sep="\n")
    return code


if __name__ == "__main__":
    at, *rest = sys.argv[1:]
    sys.exit(main(Path(at), rest[1:] if rest[:1] == ["--"] else rest))
