"""How fast this machine describes images, trains and scores: the rates from which ``fivesentences plan`` reckons.

    uv run python benchmarks/bench_rates.py config/paper.yaml [--device cuda] [--out config/machines/rates.yaml]
    uv run python benchmarks/bench_rates.py config/paper.yaml --only subspaces     # category retrieval alone

Every kind of features, model (with its widths, features and batches), phi and method of category retrieval (with the
sizes of its vectors) of the scale is timed: networks with random weights, models on drawn scenes whose features are
random numbers of the right shape, phi on the scenes' captions, methods of category retrieval on random vectors; dual
encoders if their weights are here. One core, or with ``--device cuda`` the GPU for networks and models. What the file
has already of other settings of the same machine stays. It takes minutes. Seconds of a core are CPU seconds of one
thread. A step is that of the loss of a setting's first run, the fastest of some.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import timm
import torch
import yaml
from PIL import Image
from safetensors.torch import save_model

from category_rates import digits as rounded
from category_rates import evaluation_rate, subspace_rates
from fivesentences.config import FeatureSpec, Scale, read
from fivesentences.config.rates import CoreRates, EncoderRate, ExtractorRate, MachineRates, ModelRate, Rates
from fivesentences.console import Bar
from fivesentences.corpus import Corpus
from fivesentences.encoders import load_encoder, parse_encoder
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.errors import InputError
from fivesentences.evaluation.run import RunEvaluator
from fivesentences.features.describing import extractor_of
from fivesentences.features.recipe import GRID_DESCRIPTORS, Recipe
from fivesentences.machine import device_named, hardware
from fivesentences.paper.studies import plan_of
from fivesentences.plan.costs import MILLION, Costs, setting_of
from fivesentences.plan.plan import Plan
from fivesentences.plan.runs import RunSpec
from fivesentences.scenes import generate
from fivesentences.semantics import BatchCider, read_tuples
from fivesentences.semantics.phi_file import write_phi
from fivesentences.storage import replacing
from fivesentences.training.batches import batches_of
from fivesentences.training.data import RunData
from fivesentences.training.loop import Training, reproducible
from fivesentences.training.scoring import similarity_of

IMAGES = {"train": 200, "dev": 128, "test": 400}  # of the drawn scenes
STEPS, LEAST = 4, 3.0  # steps of training at most, and seconds after which there are no more
OUT = Path("config/machines/rates.yaml")


def timed(work: Callable[[], object], device: str = "cpu") -> float:
    """Seconds that some work takes: of a core, which other programs disturb less than the clock, or of the device."""
    if device == "cpu":
        start = sum(os.times()[:4])  # with child processes
        work()
        return sum(os.times()[:4]) - start
    torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begun


def extractor_rate(spec: FeatureSpec, device: str, folder: Path) -> ExtractorRate:
    """Preparing and describing images, by a network with random weights."""
    weights = None
    if spec.extractor != GRID_DESCRIPTORS:
        weights = folder / f"{spec.extractor}.safetensors"
        save_model(timm.create_model(spec.extractor, pretrained=False), str(weights))
    options: dict[str, Any] = {"crops": spec.crops, "precision": spec.precision}
    extractor = extractor_of(Recipe(spec.extractor, spec.layout, weights, device, **options))
    noise = np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8)

    def describe() -> np.ndarray:
        prepared = [extractor.prepare(Image.fromarray(noise)) for _ in range(extractor.images_at_once)]
        return extractor.describe(np.stack(prepared))

    shape = list(describe().shape[1:])
    return ExtractorRate(seconds=rounded(min(map(timed, [describe] * 3)) / extractor.images_at_once), shape=shape)


def model_rate(spec: RunSpec, shape: list[int], device: str, corpus: Path, folder: Path) -> ModelRate:
    """Steps of training on random features, and scoring of two galleries, from which its two terms follow."""
    features = folder / "features.npy"
    ids = Corpus.read(corpus).images["image_id"].tolist()
    rng = np.random.default_rng(0)
    np.save(features, np.abs(rng.normal(size=(len(ids), *shape))).astype(np.float16))
    pd.DataFrame({"image_id": ids, "filename": ids}).to_parquet(features.with_suffix(".images.parquet"))
    whole = spec.model_copy(update={"fraction": 1.0, "captions_per_image": None})
    place = torch.device(device)
    with reproducible(spec.training.threads, place, spec.training.arithmetic):
        training = Training(whole, RunData.read(whole, corpus, features), place)
        taken = [timed(partial(training._train_batch, batch), device) for batch in some_batches(training)]
        few, many = (training.data.dev.first(count) for count in (IMAGES["dev"] // 2, IMAGES["dev"]))
        scored = [timed(partial(similarity_of, training.model, one), device) for one in (few, few, many)][1:]
    (m, n), (short, long) = (IMAGES["dev"] // 2, IMAGES["dev"]), scored
    per_pair = max(0.0, (long / n - short / m) / (n - m))
    parameters = sum(parameter.numel() for parameter in training.model.parameters())
    return ModelRate(
        step=rounded(min(taken[1:] or taken)),
        per_image=rounded(max(0.0, long / n - per_pair * n)),
        per_pair=rounded(per_pair),
        parameters=parameters,
    )


def some_batches(training: Training) -> Iterator[Any]:
    """Full batches, until some seconds are over; the first warms up."""
    start = time.perf_counter()
    size = training.settings.batch_size
    full = (rows for rows in batches_of(training._order(), size) if len(rows) == size)
    for count, batch in enumerate(training.loader.batches(full)):
        if count >= STEPS or (count >= 2 and time.perf_counter() - start > LEAST):
            return
        yield batch


def encoder_rate(spec: EncoderSpec, device: str, captions: list[str]) -> EncoderRate | None:
    """Preparing and describing a batch of images, and one of captions; None where the weights are not here."""
    settings = spec.settings(device)
    try:
        # Nothing is fetched to be measured; timm has imported the Hub's library, which reads its variable once.
        with mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", True):
            encoder = load_encoder(parse_encoder(spec.encoder), settings, spec.sha256)
    except InputError as error:
        print(f"{spec.encoder} is not measured: {error}", file=sys.stderr)
        return None
    noise = np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8)
    size, texts = spec.batch_size, captions[: spec.batch_size]

    def images() -> np.ndarray:
        return encoder.images([encoder.prepare(Image.fromarray(noise)) for _ in range(size)])

    words = partial(encoder.captions, texts)
    dimensions = images().shape[1]
    words()
    return EncoderRate(
        image=rounded(timed(images, device) / size),
        caption=rounded(timed(words, device) / len(texts)),
        dimensions=dimensions,
    )


def with_categories(plan: Plan, core: CoreRates) -> CoreRates:
    """Rates of a core, and those of a plan's methods of category retrieval and of their evaluation."""
    costs = Costs(plan, Rates(core=core))  # documents that are images have vectors of the shapes that it knows
    runs = plan.subspaces.all_runs.values()
    counted = [(run, sizes) for run in runs if (sizes := costs.documents_of(run)) is not None]
    if not counted:
        return core
    rates = core.subspaces | subspace_rates(counted)
    evaluation = evaluation_rate(counted[0][0].training.output)
    return core.model_copy(update={"subspaces": rates, "evaluate_subspaces": evaluation})


def core_rates(plan: Plan, corpus: Path, folder: Path) -> dict[str, Any]:
    """What one core does beside features and training: phi, preparing CIDEr, evaluation, the start of a job."""
    table = Corpus.read(corpus)
    test, train = table.split("test"), table.split("train")
    tuples = read_tuples(corpus.with_name("tuples.jsonl.gz"), test.captions, test.caption_ids)
    pairs = len(test.captions) * test.image_of_caption.max().item() + len(test.captions)
    phis, matrix = {}, folder / "phi.npy"
    for phi in plan.matrices:
        given = tuples if phi.startswith("spice") else None
        seconds = timed(partial(write_phi, phi, test.captions, test.image_of_caption, matrix, tuples=given))
        phis[phi] = rounded(seconds / pairs * MILLION)
    prepared = folder / "cider.npz"
    prepare = timed(lambda: BatchCider(train.captions, train.image_of_caption, "whitespace").write(prepared))
    similarity = np.random.default_rng(0).normal(size=(IMAGES["test"], len(test.captions))).astype(np.float32)
    evaluator = RunEvaluator({"phi": np.load(matrix)}, test.image_of_caption)
    evaluator(similarity)
    return {
        "job": rounded(min(timed(start_of_a_job) for _ in range(3))),
        "phis": phis,
        "prepare": rounded(prepare / len(train.captions) * 1000),
        "parse": parse_rate(test.captions, folder),
        "evaluate": rounded(timed(lambda: evaluator(similarity)) / pairs * MILLION),
    }


def parse_rate(captions: list[str], folder: Path) -> float | None:
    """Seconds per 1,000 captions of SPICE's parser on one core, without its start; None where there is no Java."""
    from fivesentences.semantics.java import parse_captions

    few, many = captions[:50], captions[50:650]
    try:
        parse_captions(few, folder / "warm.jsonl.gz", threads=1)
        short = timed(lambda: parse_captions(few[::-1], folder / "few.jsonl.gz", threads=1))
        long = timed(lambda: parse_captions(many, folder / "many.jsonl.gz", threads=1))
    except InputError as error:
        print(f"SPICE's parser is not measured: {error}", file=sys.stderr)
        return None
    return rounded(max(0.0, long - short) / (len(many) - len(few)) * 1000)


def start_of_a_job() -> None:
    """What a job of the workflow imports before it works, in a process of its own."""
    subprocess.run([sys.executable, "-c", "import snakemake.cli, fivesentences.paper.studies, torch"], check=True)


def core_name() -> str:
    """The processor and torch, without what changes from run to run."""
    return f"one core of {hardware()['processor']}, torch {torch.__version__}"


def measured(plan: Plan, device: str, corpus: Path, folder: Path) -> MachineRates:
    """Every kind of features, model and encoder of a plan."""
    made = {source for _, source in plan.extracted}
    extractors = {}
    for name, spec in plan.extracted_features.items():
        if name in made and spec.layout != "regions":
            extractors[name] = extractor_rate(spec, device, folder)
            print(f"{name}: {extractors[name].seconds:g} s per image", file=sys.stderr)
    here = core_name() if device == "cpu" else f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    found = MachineRates(machine=here, extractors=extractors)
    # A model reads features of the shapes that were just measured.
    nothing = CoreRates(machine=here, extractors=extractors, job=0, prepare=0, evaluate=0)
    costs = Costs(plan, Rates(core=nothing))
    settings: dict[str, tuple[RunSpec, list[int]]] = {}
    for run in plan.all_runs.values():
        shape = costs.shape_of(run.dataset, run.features)
        if shape is not None:
            settings.setdefault(setting_of(run, shape), (run, shape))
    models = {}
    with Bar("models", len(settings)) as bar:
        for setting, (run, shape) in settings.items():
            models[setting] = model_rate(run, shape, device, corpus, folder)
            bar.advance(1, setting)
    captions = Corpus.read(corpus).captions
    specs = {run.encoder.setting: run.encoder for run in plan.all_encoded.values()}
    encoders = {setting: encoder_rate(spec, device, captions) for setting, spec in specs.items()}
    known = {setting: rate for setting, rate in encoders.items() if rate is not None}
    return found.model_copy(update={"models": models, "encoders": known})


def joined(known: MachineRates | None, found: MachineRates) -> dict[str, Any]:
    """What was found, and what is known of the same machine."""
    if known is None or known.machine != found.machine:
        return found.model_dump()
    old, new = known.model_dump(include=set(MachineRates.model_fields)), found.model_dump()
    return {key: {**old[key], **new[key]} if isinstance(new[key], dict) else new[key] for key in new}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scale", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", choices=["subspaces"], help="category retrieval alone; the other rates stay")
    options = parser.parse_args()
    device = device_named(options.device)
    known = read(Rates, options.out) if options.out.is_file() else None
    if device != "cpu" and known is None:
        raise SystemExit(f"{options.out} is missing; measure the core first, without --device")
    torch.set_num_threads(1)
    plan = plan_of(read(Scale, options.scale), options.scale.parent)
    if options.only is not None:
        if known is None or device != "cpu" or known.core.machine != core_name():
            raise SystemExit(f"--only adds to the rates of this core, which {options.out} does not have: leave it out")
        write(Rates(core=with_categories(plan, known.core), gpu=known.gpu), options.out)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = folder / "scenes" / "scenes.parquet"
        generate(corpus.parent, seed=0, **IMAGES).write(corpus)
        found = measured(plan, device, corpus, folder)
        if device == "cpu":
            core = core_rates(plan, corpus, folder)
            before = known.core if known is not None and known.core.machine == found.machine else None
            if before is not None:
                core["phis"] = before.phis | core["phis"]
                core |= before.model_dump(include={"subspaces", "evaluate_subspaces"})
            both = with_categories(plan, CoreRates(**joined(before, found), **core))
            rates = Rates(core=both, gpu=known.gpu if known else None)
        else:
            assert known is not None
            rates = Rates(core=known.core, gpu=MachineRates(**joined(known.gpu, found)))
    write(rates, options.out)


def write(rates: Rates, out: Path) -> None:
    """Write the file of rates, and say which it is."""
    with replacing(out) as temporary:
        text = yaml.safe_dump(rates.model_dump(mode="json"), sort_keys=True, width=120)
        temporary.write_text(HEAD + text, encoding="utf-8")
    print(out)


HEAD = """\
# How fast one core is, and a GPU where one was at hand, from which `fivesentences plan` reckons.
# Written by benchmarks/bench_rates.py.
"""

if __name__ == "__main__":
    main()
