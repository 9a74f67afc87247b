"""What a rehearsal writes is read by the loaders of the real files, and means the same everywhere."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import project_folder
from fivesentences.config.reading import read
from fivesentences.corpus import Corpus
from fivesentences.corpus.judgements import load_cxc
from fivesentences.corpus.karpathy import load_karpathy
from fivesentences.corpus.labels import read_instances
from fivesentences.corpus.pascal_sentences import load_pascal_sentences
from fivesentences.corpus.photographs import Photographs
from fivesentences.corpus.precomp import load_precomp
from fivesentences.corpus.wikipedia import load_wikipedia_articles
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, describe_precomp
from fivesentences.reproduction.categories.corpus.nus_wide import load_nus_wide
from fivesentences.reproduction.categories.corpus.wikipedia import load_wikipedia
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from fivesentences.storage import sha256_of
from fivesentences.training.data import with_features
from fivesentences.training.vocabulary import Vocabulary
from rehearsal import upstream
from rehearsal.upstream import Sizes, write_upstream, write_weights

SIZES = Sizes(
    flickr30k={"train": 5, "val": 2, "test": 3},
    coco={"train": 4, "restval": 2, "val": 4, "test": 5},
    wikipedia=(20, 10),
    nus_wide=6,
    pascal=1,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upstream, "WEIGHTS", {})  # 800 MB of random numbers
        folder = tmp_path_factory.mktemp("rehearsal")
        write_upstream(folder, SIZES)
    return folder


@pytest.fixture(scope="module")
def coco(folder: Path) -> Corpus:
    return load_karpathy(folder / "mirror/coco/caption_datasets.zip", "coco")


@pytest.fixture(scope="module")
def flickr30k(folder: Path) -> Corpus:
    return load_karpathy(folder / "mirror/flickr30k/flickr30k.zip", "flickr30k")


def sizes_of(corpus: Corpus) -> dict[str, int]:
    return {split: corpus.split(split).n_images for split in corpus.splits}


@pytest.mark.slow
def test_a_mirror_lists_its_files_and_has_no_others_than_the_catalogue(folder: Path) -> None:
    mirror = folder / "mirror"
    listed = dict(reversed(line.split("  ")) for line in (mirror / "SHA256SUMS").read_text().splitlines())
    assert listed == {name: sha256_of(mirror / name) for name in listed}
    found = {path.relative_to(mirror).as_posix() for path in mirror.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    catalogue = read(Catalogue, project_folder() / "datasets.yaml")
    assert found == set(listed) <= {file.path for entry in catalogue.datasets.values() for file in entry.files.values()}


def test_captions_and_photographs_belong_together(folder: Path, coco: Corpus, flickr30k: Corpus) -> None:
    assert sizes_of(flickr30k) == {"train": 5, "dev": 2, "test": 3}
    assert sizes_of(coco) == {"train": 6, "dev": 4, "test": 5}  # restval is trained on
    for corpus, archives in ((flickr30k, ["flickr30k-images"]), (coco, ["train2014", "val2014"])):
        photographs = Photographs(*(folder / "mirror" / corpus.name / f"{name}.zip" for name in archives))
        names = [name if "/" in name else f"flickr30k-images/{name}" for name in corpus.images["filename"]]
        assert sorted(photographs.names()) == sorted(names)
        assert photographs.decoded(corpus.images["filename"][0]).size == (224, 168)


def test_labels_and_judgements_are_of_the_test_images(folder: Path, coco: Corpus, tmp_path: Path) -> None:
    test = coco.split("test")
    with zipfile.ZipFile(folder / "mirror/coco/annotations_trainval2014.zip") as archive:
        instances = Path(archive.extract("annotations/instances_val2014.json", tmp_path))
    assert read_instances(instances, list(test.images["image_id"])).any(axis=1).sum() >= 4
    judged = load_cxc(folder / "mirror/cxc/sits_test.csv", coco).within(coco, "test")
    assert judged.dropped == 0 and judged.pairs.own.sum() == test.n_captions
    assert judged.pairs.human.between(0, 5).all()
    assert judged.pairs[judged.pairs.own].human.mean() > judged.pairs[~judged.pairs.own].human.mean()


def test_released_regions_are_found_by_the_images_of_the_photographs(
    folder: Path, coco: Corpus, flickr30k: Corpus, tmp_path: Path
) -> None:
    for corpus, prefix, testall in ((coco, "coco", True), (flickr30k, "f30k", False)):
        precomp = folder / "data" / f"{prefix}_precomp"
        describe_precomp(precomp, corpus, tmp_path / f"{prefix}.json", testall=testall)
        table = FeatureTable.open(tmp_path / f"{prefix}.json")
        own = load_precomp(precomp, testall=testall)
        for split, name in (("train", "train"), ("test", "testall" if testall else "test")):
            part = corpus.split(split)
            assert [text.strip() for text in own.split(split).captions] == [text.strip() for text in part.captions]
            stored = np.load(precomp / f"{name}_ims.npy")[:: 1 if split == "train" else 5]
            assert stored.shape == (part.n_images, 36, 2048)
            np.testing.assert_array_equal(table.rows(list(part.images["image_id"])), stored)
    # The release of COCO has features of some dev images only; the others are left out of selection.
    coco_table = FeatureTable.open(tmp_path / "coco.json")
    dev = with_features(coco.split("dev"), coco_table)
    assert dev.n_images == 2 and list(dev.captions) == list(coco.split("dev").captions[:10])
    with pytest.raises(InputError, match="no features of image"):
        coco_table.rows(list(coco.split("dev").images["image_id"]))


def test_a_folder_of_other_images_is_refused(folder: Path, flickr30k: Corpus, tmp_path: Path) -> None:
    table = flickr30k.table.assign(caption=["something else entirely"] * flickr30k.n_captions)
    with pytest.raises(InputError, match="are not those of"):
        describe_precomp(folder / "data/f30k_precomp", Corpus("flickr30k", table), tmp_path / "f.json")
    with pytest.raises(InputError, match="COCO's ids or places"):
        describe_precomp(folder / "data/coco_precomp", flickr30k, tmp_path / "f.json", testall=True)


def test_documents_of_category_retrieval_are_read(folder: Path) -> None:
    wikipedia = folder / "mirror/wikipedia"
    lists = [wikipedia / f"{name}.list" for name in ("trainset_txt_img_cat", "testset_txt_img_cat", "categories")]
    loaded = load_wikipedia(wikipedia / "raw_features.mat", *lists)
    assert loaded.images.shape == (30, 128) and loaded.texts is not None and loaded.texts.shape == (30, 10)
    assert len(set(loaded.documents.articles)) < 30  # some articles have two sections
    articles = load_wikipedia_articles(wikipedia / "wikipedia_dataset.zip")
    assert tuple(articles.images["image_id"]) == loaded.documents.ids
    assert tuple(articles.images["category"]) == loaded.documents.categories
    assert articles.n_captions == 30 == len(Photographs(wikipedia / "wikipedia_dataset.zip"))
    nus_wide = load_nus_wide(folder / "data/nus_wide", ["CH", "CM55", "CORR", "EDH", "WT"], 10)
    assert nus_wide.images.shape == (60, 634) and len(set(nus_wide.documents.categories)) == 10
    assert all(nus_wide.documents.texts)
    pascal = load_pascal_sentences(folder / "mirror/pascal_sentences/pascal_sentences.json")
    assert pascal.n_images == 20 == pascal.images["category"].nunique()
    photographs = Photographs(folder / "mirror/pascal_sentences/photographs.zip")
    assert all(name in photographs for name in pascal.images["filename"])


def test_vocabularies_are_those_of_the_releases(folder: Path, flickr30k: Corpus) -> None:
    path = folder / "mirror/flickr30k/f30k_precomp_vocab.json"
    words = Vocabulary.read_released(path)
    assert len(words) == json.loads(path.read_text())["idx"]
    (_, unknown, _) = words.encode("zyzzyva")
    read = [number for caption in flickr30k.captions for number in words.encode(caption)]
    assert read.count(unknown) < len(read) / 20  # words with apostrophes and hyphens are cut in two ways


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "WEIGHTS", {})
    write_upstream(tmp_path, SIZES)
    assert (tmp_path / "mirror/SHA256SUMS").read_bytes() == (folder / "mirror/SHA256SUMS").read_bytes()


def test_weights_have_the_keys_of_the_network_and_keep_numbers_alive(tmp_path: Path) -> None:
    import timm

    write_weights(tmp_path / "w.safetensors", "test_resnet", seed=3)
    network = timm.create_model("test_resnet").eval()
    network.load_state_dict(load_file(tmp_path / "w.safetensors"))
    images = torch.randn(4, 3, 96, 96, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found = network.forward_head(network.forward_features(images), pre_logits=True)
    assert torch.isfinite(found).all() and 1e-3 < float(found.std()) < 1e3


def test_the_rehearsal_makes_every_table_and_figure_with_every_model_and_option_of_the_papers_scale() -> None:
    config = project_folder()
    files = (config / "paper.yaml", Path(__file__).with_name("rehearsal.yaml"))
    whole, rehearsed = (read_yaml(file) for file in files)
    # Our own studies, which fix epochs of their rows, are rehearsed nowhere, and MobileNet stands in for VGG19.
    assert set(whole["studies"]) - set(rehearsed["studies"]) == {"evidence_length", "evidence_fractions"}
    chosen = {"studies": rehearsed["studies"]}
    papers = scale_of(whole | chosen, files[0], stated=chosen)
    paper, small = (plan_of(one, config) for one in (papers, scale_of(rehearsed, files[1])))
    of_papers = {"mobilenetv2_100": "vgg19"}
    assert list(small.exhibits) == list(paper.exhibits)
    for of in (
        # One dataset's regions are our own there.
        lambda run: (
            *(run.dataset, run.model.folder, run.features.layout == "global"),
            of_papers.get(run.features.extractor, run.features.extractor),
        ),
        lambda run: (run.dataset, run.fraction, run.captions_per_image is None),
        lambda run: (run.training.drop_every, run.training.learning_rate, run.training.selection),
        lambda run: (str(run.loss.triplet), *(type(term).__name__ for term in run.loss.terms)),
    ):
        assert {of(run) for run in small.runs.values()} == {of(run) for run in paper.all_runs.values()}
    assert set(small.phi.single_phis) == set(paper.phi.single_phis)
    assert {run.ensemble for run in small.ensembles.values()} == {run.ensemble for run in paper.all_ensembles.values()}
    runs = [(small, small.runs), (paper, paper.all_runs)]  # of the papers' scale, all that the target complete makes
    readings = [{reading for run in of for reading in plan.inferences[run]} for plan, of in runs]
    assert readings[0] == readings[1] and "csls, 5 folds" in readings[0]
    made = (small.subspaces.runs, paper.subspaces.all_runs)
    methods = [{(run.documents, run.method.method) for run in runs.values()} for runs in made]
    assert methods[0] == methods[1]
