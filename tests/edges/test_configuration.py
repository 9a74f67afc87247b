"""Edges of scales, studies and runs: what nothing can come of is refused when it is read, in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from edge_cases import Case, refused, right
from fivesentences.reproduction.study.study import Study, read_study

pytestmark = pytest.mark.slow

SCALE: dict[str, Any] = {
    "scale": "mine",
    "title": "Mine",
    "roles": {"flickr30k": "scenes"},
    "datasets": {"scenes": {"loader": "scenes"}},
    "features": {"extractor": "grid_descriptors"},
    "studies": ["small"],
}
ROWS = "rows: [{role: flickr30k, model: [vsepp, sgr], loss: [hardest, sam], fraction: [0.1, 1.0]}]"
TABLES = f"tables: [{{name: t, kind: runs, title: T, caption: C, {ROWS}, columns: [{{metric: Rsum}}]}}]"
STUDY: dict[str, Any] = {"paper": "Small", "losses": {"hardest": {}, "sam": {"sam": {}}}} | yaml.safe_load(TABLES)
RUN = {"dataset": "scenes", "features": {"extractor": "e"}, "model": {"name": "vsepp"}}
VAST = f"{2**70}"

# What is changed, and what is said of it.
SCALES: list[tuple[str, ...]] = [
    ("roles: {flikr30k: scenes}", "roles names 'flikr30k'", "did you mean 'flickr30k'?"),
    ("roles: {coco: scenes}", "roles names 'coco'", "no role of its studies"),
    ("roles: {flickr30k: scene}", "roles.flickr30k is 'scene'", "only: scenes"),
    ("evaluation_phi: cidre", "evaluation_phi is 'cidre'", "did you mean 'cider'?"),
    ("evaluation_phis: [tfidf+blue1+rouge_l]", "'tfidf+blue1+rouge_l'", "did you mean 'bleu1'?"),
    ("matrices: [cider, spise]", "matrices names 'spise'", "did you mean 'spice'?"),
    ("leave_out: {phis: [metoer]}", "leave_out.phis names 'metoer'", "'meteor'?"),
    ("evaluation_phi: spice-ptb", "evaluation_phi is 'spice-ptb'", "takes no tokenisation"),
    ("matrices: ['embedding:minilmm']", "'minilmm'", "did you mean 'minilm'?"),
    ("matrices: [meteor]", "matrices names 'meteor'", "no matrix of it"),
    ("evaluation_phi: CIDEr", "evaluation_phi is 'CIDEr'"),
    ("datasets: {scenes: {loader: karpathy, splits: [Train]}}", "splits.0 is 'Train'"),
    ("datasets: {scenes: {loader: karpathy, splits: [test]}}", "splits has no train and no dev", "the role flickr30k"),
    ("{roles: {}, datasets: {scenes: {loader: karpathy, splits: [train]}}, judges: [{judge: cxc, dataset: scenes}]}",
     "splits has no test", "cxc judges it"),
    ("judges: [{judge: scenes_truth, dataset: scene}]", "scenes_truth judges 'scene'", "only: scenes"),
    ("only: [tabel]", "only names 'tabel'", "they have: small/t, t"),
    ("only: []", "only is []"),
    ("studies: [smal]", "studies names 'smal'", "nor in", "did you mean 'small'?"),
    ("studies: [small, small]", "studies names 'small' twice"),
    ("leave_out: {losses: [hardset]}", "leave_out.losses names 'hardset'", "'hardest'?"),
    ("leave_out: {fractions: [0.25]}", "names 0.25", "they have: 0.1, 1"),
    ("keep: [{model: vsep}]", "keep[0].model names 'vsep'", "'vsepp'?"),
    ("keep: [{fraction: 0.2}]", "keep[0].fraction names 0.2", "they have: 0.1, 1"),
    ("keep: []", "keep is []"),
    ("keep: [{model: cvse}]", "keep picks none of the 8 rows"),
    ("further_features: {resnet: {extractor: resnet152}}", "further_features names 'resnet'", "they have: none"),
    ("training: {exceptions: [{loss: sma, epochs: 2}]}", "training.exceptions[0].loss names 'sma'", "'sam'?"),
    (f"seeds: [{VAST}]", f"seeds.0 is {VAST}"),
    ("seeds: [-1]", "seeds.0 is -1"),
    ("seeds: [true]", "seeds.0 is True"),
    ("seeds: [1, 1]", "seeds is [1, 1]"),
    ("seeds: []", "seeds is []"),
    (f"datasets: {{scenes: {{loader: scenes, seed: {VAST}}}}}", "datasets.scenes.seed is"),
    (f"datasets: {{scenes: {{loader: scenes, train: {VAST}}}}}", "datasets.scenes.train is"),
    ("datasets: {scenes: {train: 3}}", "datasets.scenes is {'train': 3}", "'loader'"),
    ("training: {epochs: 0}", "training.epochs is 0"),
    ("training: {epochs: true}", "training.epochs is True"),
    (f"training: {{batch_size: {VAST}}}", f"training.batch_size is {VAST}"),
    ("training: {learning_rate: .inf}", "training.learning_rate is inf"),
    ("training: {learning_rate: .nan}", "training.learning_rate is nan"),
    ("training: {widths: {embedding: 1000000000000}}", "widths.embedding is 1000000000000"),
    ("training: {minutes: -5}", "training.minutes is -5"),
    ("training: {runs_at_once: 4, runs_per_job: 1}", "runs_at_once is 4", "raise that one"),
    ("training: {words: character}", "training.words is 'character'"),
    ("training: {words: {chinese: characters}}", "training.words is"),
    ("training: {precision: bfloat16}", "training.precision is 'bfloat16'"),
    ("training: {epochs: {25: 3}}", "training.epochs.25 is 25", "Did you mean 0.25?"),
    ("training: [1, 2]", "training is [1, 2]"),
    ("title: 3", "title is 3"),
]  # fmt: skip
RUNS: list[tuple[str, ...]] = [
    (f"seed: {VAST}", f"seed is {VAST}"),
    ("seed: -3", "seed is -3"),
    ("fraction: 1.5", "fraction is 1.5"),
    ("fraction: 2.5", "fraction is 2.5", "Did you mean 0.025?"),
    ("fraction: 25", "fraction is 25", "Did you mean 0.25?"),
    ("fraction: 0", "fraction is 0"),
    ("loss: {sam: {phi: cidre}}", "loss: phi is 'cidre'", "did you mean 'cider'?"),
    (f"dataset: '{'-' * 5000}'", "dataset is '-----"),
    (f"model: {{name: vsepp, layers: {VAST}}}", f"layers is {VAST}"),
]
STUDIES: list[tuple[str, ...]] = [
    ("losses: {sam: {sam: {phi: cidre}}}", "losses.sam: phi is 'cidre'", "did you mean 'cider'?"),
    (TABLES.replace("Rsum", "ASP, phi: tfdif"), "t: phi of the column ASP is 'tfdif'", "did you mean 'tfidf'?"),
    (TABLES.replace("Rsum", "'R@0'"), "tables.t.columns.0.metric is 'R@0'"),
    ("figures: [{name: h, kind: phi_histogram, title: H, caption: C, phis: [cidre]}]", "h: phi is 'cidre'",
     "did you mean 'cider'?"),
]  # fmt: skip
FILES: list[tuple[str, ...]] = [
    ("", "it is empty", "give a scale"),
    ("[1, 2]", "it holds no keys and values"),
    ("scale", "it holds no keys and values"),
]


def write_files(folder: Path) -> None:
    (folder / "studies").mkdir()
    for kind, whole, changes in (("scale", SCALE, SCALES), ("run", RUN, RUNS), ("studies/study", STUDY, STUDIES)):
        (folder / f"{kind}.yaml").write_text(yaml.safe_dump(whole))
        for number, (change, *_) in enumerate(changes):
            (folder / f"{kind}{number}.yaml").write_text(yaml.safe_dump(whole | yaml.safe_load(change)))
    (folder / "studies/study.yaml").rename(folder / "studies/small.yaml")
    for number, (text, *_) in enumerate(FILES):
        (folder / f"file{number}.yaml").write_text(text)
    (folder / "project.yaml").write_text(yaml.safe_dump(SCALE | {"studies": ["knn_margin", "small"]}))
    (folder / "catalogue.yaml").write_text("")


def read(number: int, name: str, *says: str) -> Case:
    return refused(
        lambda folder: read_study(folder / f"studies/study{number}.yaml"), f"study{number}.yaml", *says, name=name
    )


CASES = [
    right("train scale.yaml --list", "scenes/vsepp/", "scenes/sgr+sam/"),
    right("train project.yaml --list", "scenes/vsepp/triplet=3", "fraction=0.1"),
    right("train run.yaml --list", "scenes/vsepp/"),
    *(refused(f"train {kind}{number}.yaml --list", where.format(number), *says, name=change)
      for kind, where, changes in (("scale", "", SCALES), ("run", "run{}.yaml: ", RUNS),
                                   ("file", "file{}.yaml: ", FILES))
      for number, (change, *says) in enumerate(changes)),
    *(read(number, *case) for number, case in enumerate(STUDIES)),
    refused("train nowhere.yaml --list", "nowhere.yaml"),
    refused("evaluate a.npy b.npy --seed 1180591620717411303424", "--seed", "4294967295"),
    refused("evaluate a.npy b.npy --seed -1", "--seed"),
    refused("download flickr9k", "'flickr9k'", "'flickr8k'"),
    refused("download coco --file caption", "'caption'", "'captions'"),
    refused("download flickr8k --catalogue catalogue.yaml", "catalogue.yaml"),
]  # fmt: skip


def test_a_study_of_the_tests_is_right():
    Study.model_validate(STUDY)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_configuration(case, carry_out):
    carry_out(case)
