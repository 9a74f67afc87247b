"""Edges of scales, studies and runs: what nothing can come of is refused when it is read, in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from edge_cases import Case, ids, refused, right
from fivesentences.study.study import Study, read_study

SCALE: dict[str, Any] = {
    "scale": "mine",
    "title": "Mine",
    "roles": {"flickr30k": "scenes"},
    "datasets": {"scenes": {"loader": "scenes"}},
    "features": {"extractor": "grid_descriptors"},
    "studies": ["small"],
}
ROW = {"role": "flickr30k", "model": ["vsepp", "sgr"], "loss": ["hardest", "sam"], "fraction": [0.1, 1.0]}
STUDY: dict[str, Any] = {
    "paper": "Small",
    "losses": {"hardest": {}, "sam": {"sam": {}}},
    "tables": [
        {"name": "t", "kind": "runs", "title": "T", "caption": "C", "rows": [ROW], "columns": [{"metric": "Rsum"}]}
    ],
}
RUN = {"dataset": "scenes", "features": {"extractor": "e"}, "model": {"name": "vsepp"}}
HUGE = 10**30


def scale(said: tuple[str, ...], **changes: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    return SCALE | changes, said


def training(said: tuple[str, ...], **changes: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    return scale(said, training=changes)


def run(said: tuple[str, ...], **changes: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    return RUN | changes, said


def study(said: tuple[str, ...], **changes: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    return STUDY | changes, said


KARPATHY = {"scenes": {"loader": "karpathy", "splits": ["test"]}}
SCALES = {
    "role": scale(("roles names 'flikr30k'", "did you mean 'flickr30k'?"), roles={"flikr30k": "scenes"}),
    "role_of_nobody": scale(("roles names 'coco'", "no role of its studies"), roles={"coco": "scenes"}),
    "no_dataset": scale(("roles.flickr30k is 'scene'", "only: scenes"), roles={"flickr30k": "scene"}),
    "phi": scale(("evaluation_phi is 'cidre'", "did you mean 'cider'?"), evaluation_phi="cidre"),
    "phi_of_mean": scale(("'tfidf+blue1+rouge_l'", "did you mean 'bleu1'?"), evaluation_phis=["tfidf+blue1+rouge_l"]),
    "phi_matrix": scale(("matrices names 'spise'", "did you mean 'spice'?"), matrices=["cider", "spise"]),
    "phi_left_out": scale(("leave_out.phis names 'metoer'", "'meteor'?"), leave_out={"phis": ["metoer"]}),
    "phi_tokens": scale(("evaluation_phi is 'spice-ptb'", "takes no tokenisation"), evaluation_phi="spice-ptb"),
    "phi_model": scale(("'minilmm'", "did you mean 'minilm'?"), matrices=["embedding:minilmm"]),
    "phi_pairs": scale(("matrices names 'meteor'", "no matrix of it"), matrices=["meteor"]),
    "phi_text": scale(("evaluation_phi is 'CIDEr'",), evaluation_phi="CIDEr"),
    "split": scale(("splits.0 is 'Train'",), datasets={"scenes": {"loader": "karpathy", "splits": ["Train"]}}),
    "split_missing": scale(("splits has no train and no dev", "plays the role flickr30k"), datasets=KARPATHY),
    "split_of_judge": scale(
        ("splits has no test", "cxc judges it"),
        roles={},
        datasets={"scenes": {"loader": "karpathy", "splits": ["train"]}},
        judges=[{"judge": "cxc", "dataset": "scenes"}],
    ),
    "judge": scale(
        ("scenes_truth judges 'scene'", "only: scenes"), judges=[{"judge": "scenes_truth", "dataset": "scene"}]
    ),
    "only": scale(("only names 'tabel'", "they have: t"), only=["tabel"]),
    "only_nothing": scale(("only is []",), only=[]),
    "study_missing": scale(("studies names 'smal'", "nor in", "did you mean 'small'?"), studies=["smal"]),
    "study_twice": scale(("studies names 'small' twice",), studies=["small", "small"]),
    "left_out_loss": scale(("leave_out.losses names 'hardset'", "'hardest'?"), leave_out={"losses": ["hardset"]}),
    "left_out_fraction": scale(("names 0.25", "they have: 0.1, 1"), leave_out={"fractions": [0.25]}),
    "keep_model": scale(("keep[0].model names 'vsep'", "'vsepp'?"), keep=[{"model": "vsep"}]),
    "keep_fraction": scale(("keep[0].fraction names 0.2", "they have: 0.1, 1"), keep=[{"fraction": 0.2}]),
    "keep_nothing": scale(("keep is []",), keep=[]),
    "keep_none": scale(("keep picks none of the 8 rows",), keep=[{"model": "cvse"}]),
    "other_features": scale(
        ("further_features names 'resnet'", "they have: none"), further_features={"resnet": {"extractor": "resnet152"}}
    ),
    "exception": training(
        ("training.exceptions[0].loss names 'sma'", "'sam'?"), exceptions=[{"loss": "sma", "epochs": 2}]
    ),
    "seed_huge": scale(("seeds.0 is 1180591620717411303424",), seeds=[2**70]),
    "seed_negative": scale(("seeds.0 is -1",), seeds=[-1]),
    "seed_true": scale(("seeds.0 is True",), seeds=[True]),
    "seeds_twice": scale(("seeds is [1, 1]",), seeds=[1, 1]),
    "seeds_empty": scale(("seeds is []",), seeds=[]),
    "seed_of_scenes": scale(("datasets.scenes.seed is",), datasets={"scenes": {"loader": "scenes", "seed": 2**70}}),
    "scenes_huge": scale(("datasets.scenes.train is",), datasets={"scenes": {"loader": "scenes", "train": HUGE}}),
    "loader": scale(("datasets.scenes is {'train': 3}", "'loader'"), datasets={"scenes": {"train": 3}}),
    "epochs": training(("training.epochs is 0",), epochs=0),
    "epochs_true": training(("training.epochs is True",), epochs=True),
    "batch": training(("training.batch_size is 1000000",), batch_size=HUGE),
    "rate_inf": training(("training.learning_rate is inf",), learning_rate=float("inf")),
    "rate_nan": training(("training.learning_rate is nan",), learning_rate=float("nan")),
    "width": training(("widths.embedding is 1000000000000",), widths={"embedding": 10**12}),
    "minutes": training(("training.minutes is -5",), minutes=-5),
    "fraction_key": training(("training.epochs.25 is 25", "Did you mean 0.25?"), epochs={25: 3}),
    "block": scale(("training is [1, 2]",), training=[1, 2]),
    "title": scale(("title is 3",), title=3),
}
RUNS = {
    "run_seed": run(("seed is 1180591620717411303424",), seed=2**70),
    "run_seed_negative": run(("seed is -3",), seed=-3),
    "run_fraction": run(("fraction is 1.5",), fraction=1.5),
    "run_percent": run(("fraction is 2.5", "Did you mean 0.025?"), fraction=2.5),
    "run_percents": run(("fraction is 25", "Did you mean 0.25?"), fraction=25),
    "run_fraction_zero": run(("fraction is 0",), fraction=0),
    "run_phi": run(("loss: phi is 'cidre'", "did you mean 'cider'?"), loss={"sam": {"phi": "cidre"}}),
    "run_long": run(("dataset is '-----",), dataset="-" * 5000),
    "run_layers": run(("layers is 1000000000",), model={"name": "vsepp", "layers": HUGE}),
}
STUDIES = {
    "study_phi": study(
        ("losses.sam: phi is 'cidre'", "did you mean 'cider'?"), losses={"sam": {"sam": {"phi": "cidre"}}}
    ),
    "study_column": study(
        ("t: phi of the column ASP is 'tfdif'", "did you mean 'tfidf'?"),
        tables=[STUDY["tables"][0] | {"columns": [{"metric": "ASP", "phi": "tfdif"}]}],
    ),
    "study_metric": study(
        ("tables.t.columns.0.metric is 'R@0'",), tables=[STUDY["tables"][0] | {"columns": [{"metric": "R@0"}]}]
    ),
    "study_figure": study(
        ("h: phi is 'cidre'", "did you mean 'cider'?"),
        figures=[{"name": "h", "kind": "phi_histogram", "title": "H", "caption": "C", "phis": ["cidre"]}],
    ),
}
FILES = {
    "empty": ("", ("it is empty", "give a scale")),
    "list": ("[1, 2]", ("it holds no keys and values",)),
    "word": ("scale", ("it holds no keys and values",)),
}


def write_files(folder: Path) -> None:
    (folder / "studies").mkdir()
    written = {"good": SCALE, "studies/small": STUDY, "good_run": RUN}
    written |= {name: content for name, (content, _) in (SCALES | RUNS).items()}
    written |= {f"studies/{name}": content for name, (content, _) in STUDIES.items()}
    for name, content in written.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    for name, (text, _) in FILES.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "project.yaml").write_text(yaml.safe_dump(SCALE | {"studies": ["knn_margin", "small"]}))
    (folder / "catalogue.yaml").write_text("")


def reads(name: str) -> Case:
    return refused(
        lambda folder: read_study(folder / "studies" / f"{name}.yaml"), f"{name}.yaml", *STUDIES[name][1], name=name
    )


CASES = [
    right("train good.yaml --list", "scenes/vsepp/", "scenes/sgr+sam/"),
    right("train project.yaml --list", "scenes/vsepp/triplet=3", "fraction=0.1"),
    right("train good_run.yaml --list", "scenes/vsepp/"),
    *(refused(f"train {name}.yaml --list", *said) for name, (_, said) in SCALES.items()),
    *(refused(f"train {name}.yaml --list", f"{name}.yaml: ", *said) for name, (_, said) in (RUNS | FILES).items()),
    *map(reads, STUDIES),
    refused("train nowhere.yaml --list", "nowhere.yaml: there is no such file"),
    refused("compare a.npy b.npy --seed 1180591620717411303424", "--seed", "4294967295"),
    refused("compare a.npy b.npy --seed -1", "--seed"),
    refused("download flickr9k", "there is no dataset 'flickr9k'", "did you mean 'flickr8k'?"),
    refused("download coco --file caption", "coco has no file 'caption'; did you mean 'captions'?"),
    refused("download flickr8k --catalogue catalogue.yaml", "catalogue.yaml: it is empty"),
]


def test_a_study_of_the_tests_is_right():
    Study.model_validate(STUDY)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_configuration(case, carry_out):
    carry_out(case)
