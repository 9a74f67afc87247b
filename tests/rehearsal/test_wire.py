"""Every file of the catalogue comes from its host in its packaging, and is what the rehearsal's upstream wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import yaml

from fivesentences.config.consents import agreed
from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import project_folder
from fivesentences.config.reading import read
from fivesentences.corpus import download, fetch, load_flickr8k
from fivesentences.corpus.archives import open_zip
from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.unpacked import PROGRAMS
from fivesentences.corpus.unpacking import unpack
from fivesentences.errors import InputError, InputErrors
from fivesentences.features.detectors.bottom_up import BottomUpAttention
from fivesentences.features.detectors.weights import read_state
from rehearsal import upstream
from rehearsal.test_upstream import SIZES
from rehearsal.wire import CUT, GONE, MOVED, Hosts, offer, running, write_config

pytestmark = pytest.mark.slow

REAL = read(Catalogue, project_folder() / "datasets.yaml")


class Rehearsed(NamedTuple):
    """A folder with the stand-ins, the hosts that offer them, and the catalogue that leads there."""

    folder: Path
    hosts: Hosts
    catalogue: Catalogue


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upstream, "WEIGHTS", {})  # 800 MB of random numbers
        patch.setattr(download, "SECONDS_BETWEEN_ATTEMPTS", 0.0)
        folder = tmp_path_factory.mktemp("wire")
        upstream.write_upstream(folder / "upstream", SIZES)
        for name in ("vgg19.tv_in1k", "resnet152.tv_in1k"):
            (folder / f"upstream/mirror/weights/{name}.safetensors").write_bytes(name.encode() * 100)
        hosts = Hosts(offer(folder / "upstream", folder / "packed", REAL, SIZES), CUT, GONE, MOVED)
        with running(hosts):
            write_config(folder, hosts, REAL)
            yield Rehearsed(folder, hosts, read(Catalogue, folder / "config/datasets.yaml"))


def test_the_catalogue_of_the_rehearsal_has_the_entries_of_the_real_one_and_no_other_host(
    wire: Rehearsed,
) -> None:
    for name, entry in REAL.datasets.items():
        other = wire.catalogue.datasets[name]
        assert other.folders == entry.folders and list(other.files) == list(entry.files)
        for key, file in entry.files.items():
            urls = [url for url in (other.files[key].url, *other.files[key].more_urls) if url]
            assert len(urls) == bool(file.url) + len(file.more_urls)
            assert all(url.startswith(wire.hosts.url) for url in urls)
            known = [(one.sha256 is None, one.size is None) for one in (file, other.files[key])]
            assert known[0] == known[1]
    assert set(agreed(wire.folder / "data")) == {"flickr30k"}
    assert [path.name for path in (wire.folder / "data").iterdir()] == ["consents.yaml"]


@pytest.mark.program(*PROGRAMS)
def test_every_file_arrives_over_all_faults_and_every_folder_is_unpacked(wire: Rehearsed, tmp_path: Path) -> None:
    data, mirror = tmp_path / "data", wire.folder / "upstream/mirror"
    data.mkdir()
    (data / "consents.yaml").write_bytes((wire.folder / "data/consents.yaml").read_bytes())
    arrived = {}
    for name, entry in wire.catalogue.datasets.items():
        for key, file in entry.files.items():
            if file.url or file.made_of:
                arrived[file.path] = fetch(entry, name, key, data, None)
    for path, file in arrived.items():
        if (mirror / path).exists() and "pascal" not in path:
            assert file.read_bytes() == (mirror / path).read_bytes(), path
    for entry in wire.catalogue.datasets.values():
        for folder, about in entry.folders.items():
            archives = [arrived[entry.files[key].path] for key in about.archives]
            for number, one in enumerate([[archive] for archive in archives] if about.any_of_them else [archives]):
                unpack(one, tmp_path / f"{number}" / folder, about)
                found = {path.name: path.read_bytes() for path in (tmp_path / f"{number}" / folder).rglob("[!.]*.*")}
                wanted = (wire.folder / "upstream/data" / folder).rglob("[!.]*.*")
                assert found == {path.name: path.read_bytes() for path in wanted}, folder
    said = "\n".join(wire.hosts.faults_overcome())
    assert said.count("cut off halfway") == len(CUT) and "and resumed" in said and all(end in said for end in CUT)
    assert said.count("fetched from the second address") == len(GONE) and all(end in said for end in GONE)
    both = (folder / "pascal_sentences/pascal_sentences.json" for folder in (data, mirror))
    ours, theirs = (json.loads(path.read_text(encoding="utf-8")) for path in both)
    assert list(ours.items()) == list(theirs.items())
    archives = (folder / "pascal_sentences/photographs.zip" for folder in (data, mirror))
    with open_zip(next(archives)) as one, open_zip(next(archives)) as other:
        assert one.namelist() == other.namelist()
        assert all(one.read(name) == other.read(name) for name in one.namelist())
    corpus = load_flickr8k(arrived["flickr8k/Flickr8k_text.zip"])
    assert all(name in Photographs(arrived["flickr8k/Flickr8k_Dataset.zip"]) for name in corpus.images["filename"])


@pytest.mark.parametrize(
    ("name", "flavour", "other"),
    [("caffe_attr", "d2", "caffe"), ("frcnn_vg", "d2", "caffe"), ("milvlg", "caffe", "d2")],
)
def test_weights_in_each_packaging_are_read_and_those_of_another_network_refused(
    wire: Rehearsed, tmp_path: Path, name: str, flavour: str, other: str
) -> None:
    entry = wire.catalogue.datasets["weights"]
    path = fetch(entry, "weights", f"bottom_up.{name}", tmp_path, None)
    state = read_state(path)
    assert state["backbone.stem.conv1.weight"].shape == (8, 3, 7, 7) and all(map(torch.is_tensor, state.values()))
    assert len(state) == 536 and BottomUpAttention(path, flavour).network.widths == upstream.NARROW
    with pytest.raises(InputError, match="its 536 tensors are not the 536 of") as error:
        BottomUpAttention(path, other)
    assert error.value.where == path and "give the weights of this network" in error.value.cure


def test_other_downloads_go_on_where_a_host_is_gone(wire: Rehearsed, tmp_path: Path) -> None:
    """The command, with an entry whose first file's host is gone and whose second answers."""
    content = yaml.safe_load((wire.folder / "config/datasets.yaml").read_text())
    content["datasets"]["nus_wide"]["files"]["image_list"] |= {
        "url": "http://127.0.0.1:9/ImageList.zip",
        "more_urls": [],
    }
    (tmp_path / "list.yaml").write_text(yaml.safe_dump(content))
    command = [sys.executable, "-m", "fivesentences", "download", "nus_wide", "--catalogue", "list.yaml"]
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "nus_wide_archives/ImageList.zip: http://127.0.0.1:9" in done.stderr
    assert "run again once it answers, or put the file at" in done.stderr
    there = {path.name for path in (tmp_path / "data/nus_wide_archives").iterdir() if path.suffix in (".zip", ".rar")}
    assert there == {"Groundtruth.zip", "NUS_WID_Tags.zip", "NUS_WID_Low_Level_Features.rar"}


def test_a_file_that_is_gone_from_every_address_has_a_sentence_for_each(wire: Rehearsed, tmp_path: Path) -> None:
    entry = wire.catalogue.datasets["wikipedia"]
    kept = dict(wire.hosts.files)
    wire.hosts.files.clear()
    try:
        with pytest.raises(InputErrors) as error:
            fetch(entry, "wikipedia", "photographs", tmp_path, None)
    finally:
        wire.hosts.files.update(kept)
    first, second = str(error.value).splitlines()
    assert "404" in first and "404" in second and "id_/" in second and "id_/" not in first
