"""What the jobs of a plan take: time, disk and downloads, from the rates of a machine."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fivesentences.config import FeatureSpec
from fivesentences.config.documents import CorpusDocuments
from fivesentences.config.features import REGIONS
from fivesentences.config.rates import ExtractorRate, MachineRates, ModelRate, Rates
from fivesentences.features.extract import LONGEST_FLOAT32_ROW
from fivesentences.plan.document_sizes import DocumentSizes, document_sizes
from fivesentences.plan.graph import Graph, PlannedJob
from fivesentences.plan.plan import Plan
from fivesentences.plan.rules import GPU_RULES
from fivesentences.plan.sizes import Size, sizes_of
from fivesentences.plan.subspace_costs import bytes_of, kept_of, seconds_of, subspace_setting
from fivesentences.study.runs import EncodedRun, RunSpec, SubspaceRun

MILLION = 1e6
FLOAT32, FLOAT16 = 4, 2
# What is described in a precomp folder, and found by detectors, before anything is measured.
SHAPES = {"bottom_up": 2048, "faster_rcnn": 1024}


@dataclass(frozen=True)
class Cost:
    """What a job takes.

    Attributes:
        job: The job.
        seconds: Its time; None if no rate is known for it.
        on_gpu: Whether it runs on a GPU, if there is one.
        disk: Bytes that it leaves; None if that is not known.
    """

    job: PlannedJob
    seconds: float | None
    on_gpu: bool
    disk: int | None


def setting_of(spec: RunSpec, shape: Sequence[int]) -> str:
    """What the time of a training step depends on, such as ``scan, direction=i2t, 36 x 2048, batch 128``.

    Of the model these are its widths, counts and choices; a share or a switch hardly changes the time, nor does how
    weights begin, how states are pooled, or which captions concepts are counted in.
    """
    given = spec.model.model_dump(exclude_defaults=True, exclude={"initialisation", "pooling", "concept_captions"})
    settings = {key: value for key, value in given.items() if isinstance(value, str) or type(value) is int}
    name = [str(settings.pop("name", spec.model.name)), *(f"{key}={value}" for key, value in settings.items())]
    return ", ".join([*name, " x ".join(map(str, shape)), f"batch {spec.training.batch_size}"])


class Costs:
    """Costs of the jobs of a plan.

    Args:
        plan: The plan of a scale.
        rates: Of a machine.
    """

    def __init__(self, plan: Plan, rates: Rates):
        self.plan, self.rates = plan, rates
        self._sizes: dict[str, Mapping[str, Size] | None] = {}
        self._document_sizes: dict[tuple[str, str], DocumentSizes | None] = {}

    def of(self, job: PlannedJob) -> Cost:
        """What a job takes."""
        found: Callable[..., tuple[float | None, int | None]] | None = getattr(self, f"_{job.rule}", None)
        seconds, disk = (0.0, 0) if found is None else found(**job.wildcards)
        on_gpu = job.rule in GPU_RULES and self.plan.scale.training.gpu
        return Cost(job, None if seconds is None else self.rates.core.job + seconds, on_gpu, disk)

    @cached_property
    def machine(self) -> MachineRates:
        """What trains and describes images: a GPU if the scale has one and one was measured."""
        gpu = self.rates.gpu if self.plan.scale.training.gpu else None
        return self.rates.core if gpu is None else gpu

    @property
    def on_core(self) -> bool:
        """Whether the scale asks for a GPU, and only a core was measured."""
        return self.plan.scale.training.gpu and self.rates.gpu is None

    def shape_of(self, dataset: str, spec: FeatureSpec) -> list[int] | None:
        """The shape of an image's features as a model reads them; None if nobody has measured the network."""
        rate = self._rates_of(spec)
        if rate is not None:
            shape = list(rate.shape)
        elif spec.extractor in SHAPES or self.plan.is_described(dataset, spec):
            shape = [spec.regions or REGIONS, SHAPES.get(spec.extractor, 2048)]
        else:
            return None
        regions = [spec.regions] if spec.regions is not None else shape[:-1]
        return [*regions, spec.dimensions or shape[-1]]

    def missing(self, costs: Iterable[Cost]) -> list[str]:
        """What has no rate: models, methods and encoders with their settings, features and phi, each once."""
        unknown = (one for cost in costs if cost.seconds is None for one in self._unknown_of(cost.job))
        return list(dict.fromkeys(unknown))

    def _unknown_of(self, job: PlannedJob) -> Iterator[str]:
        match job.rule:
            case "train":
                for spec in self._runs(job.wildcards["job"]):
                    shape = self.shape_of(spec.dataset, spec.features)
                    if shape is None:
                        yield f"{spec.model.name} on {spec.features.stem}"
                    elif self._model_rate(spec) is None:
                        yield setting_of(spec, shape)
            case "train_subspaces" | "evaluate_subspaces":
                for run in self._subspace_runs(job.wildcards["subspace_job"]):
                    sizes = self.documents_of(run)
                    if sizes is None:
                        yield f"category retrieval on {run.documents}, whose documents are not counted yet"
                    elif job.rule == "evaluate_subspaces":
                        yield job.rule
                    elif (setting := subspace_setting(run, sizes.image, sizes.text)) not in self.rates.core.subspaces:
                        yield setting
            case "embed":
                yield self._encoder(**job.wildcards).encoder.setting
            case _:
                yield f"{job.rule} {' '.join(job.wildcards.values())}"

    def documents_of(self, run: SubspaceRun) -> DocumentSizes | None:
        """How many documents a run of category retrieval reads, and the sizes of their vectors; None if unknown."""
        key = run.documents, run.division
        if key not in self._document_sizes:
            categories, features = self.plan.scale.categories, self.plan.scale.features
            spec = None if categories is None else categories.documents[run.documents]
            shape = None
            if isinstance(spec, CorpusDocuments) and features is not None:
                shape = self.shape_of(spec.corpus, features)
            self._document_sizes[key] = document_sizes(self.plan, *key, shape)
        return self._document_sizes[key]

    # --- one method per rule that takes long: seconds beside the start, and bytes ------------------------------------

    def _extract_features(self, dataset: str, extracted: str) -> tuple[float | None, int | None]:
        spec, images = self.plan.extracted_features[extracted], self._images(dataset)
        rate, shape = self._rates_of(spec), self.shape_of(dataset, spec)
        seconds = None if rate is None or images is None else images * rate.seconds
        return seconds, None if shape is None or images is None else images * _bytes(shape)

    _detect_regions = _extract_features

    def _extract_part(self, dataset: str, extracted: str, part_of_images: str) -> tuple[float | None, int | None]:
        seconds, disk = self._extract_features(dataset, extracted)
        parts = self.plan.extracted_features[extracted].parts
        return _share(seconds, parts), None if disk is None else disk // parts

    def _join_features(self, dataset: str, extracted: str) -> tuple[float | None, int | None]:
        return 0.0, self._extract_features(dataset, extracted)[1]

    def _reduce_features(self, dataset: str, reduced: str) -> tuple[float | None, int | None]:
        shape, images = self.shape_of(dataset, self.plan.reduced_features[reduced]), self._images(dataset)
        return 0.0, None if shape is None or images is None else images * _bytes(shape)

    def _score_captions(self, dataset: str, split: str, phi: str) -> tuple[float | None, int | None]:
        return self._phi(phi, self._size(dataset, split))

    def _score_training_captions(self, dataset: str, phi: str, captions: str) -> tuple[float | None, int | None]:
        return self._phi(phi, self._part(dataset, "score_training_captions", phi=phi, captions=captions))

    def _prepare_cider(self, dataset: str, phi: str, captions: str) -> tuple[float | None, int | None]:
        size = self._part(dataset, "prepare_cider", phi=phi, captions=captions)
        return (None, None) if size is None else (size.captions / 1000 * self.rates.core.prepare, 0)

    def _parse_some_captions(self, dataset: str, part: str) -> tuple[float | None, int | None]:
        split, _, captions = part.partition("/")
        size = self._part(dataset, "parse_some_captions", part=part) if "," in captions else self._size(dataset, split)
        rate = self.rates.core.parse
        return (None if size is None or rate is None else size.captions / 1000 * rate), 0

    def _train(self, job: str) -> tuple[float | None, int | None]:
        seconds, disk = zip(*map(self._run, self._runs(job)), strict=True)
        return _sum(seconds), _sum(disk)

    def _train_subspaces(self, subspace_job: str) -> tuple[float | None, int | None]:
        seconds: list[float | None] = []
        disk: list[int | None] = []
        for run in self._subspace_runs(subspace_job):
            sizes = self.documents_of(run)
            setting = None if sizes is None else subspace_setting(run, sizes.image, sizes.text)
            rate = None if setting is None else self.rates.core.subspaces.get(setting)
            seconds.append(None if sizes is None or rate is None else seconds_of(run, sizes, rate))
            disk.append(None if sizes is None else bytes_of(run, sizes))
        return _sum(seconds), _sum(disk)

    def _evaluate_subspaces(self, subspace_job: str) -> tuple[float | None, int | None]:
        rate = self.rates.core.evaluate_subspaces
        runs = [(run, self.documents_of(run)) for run in self._subspace_runs(subspace_job)]
        pairs = _sum([None if sizes is None else kept_of(run) * sizes.pairs for run, sizes in runs])
        return (None if pairs is None or rate is None else pairs / MILLION * rate), 0

    def _embed(self, dataset: str, encoder: str) -> tuple[float | None, int | None]:
        setting, size = self._encoder(dataset, encoder).encoder.setting, self._size(dataset, "test")
        rate = self.machine.encoders.get(setting) or self.rates.core.encoders.get(setting)
        if rate is None or size is None:
            return None, None
        seconds = size.images * rate.image + size.captions * rate.caption
        return seconds, FLOAT32 * rate.dimensions * (size.images + size.captions)

    def _average_similarities(self, ensemble: str) -> tuple[float | None, int | None]:
        size = self._size(self.plan.all_ensembles[ensemble].dataset, "test")
        return 0.0, None if size is None else size.pairs * FLOAT32

    def _evaluate(self, job: str) -> tuple[float | None, int | None]:
        evaluation = self.plan.evaluations[job]
        size = self._size(evaluation.dataset, "test")
        if size is None:
            return None, None
        read = sum(len(self.plan.inferences[run]) for run in evaluation.runs)
        times = read + len(evaluation.runs) * (len(self.plan.scale.phis) - 1)  # only one phi reads what is re-scored
        return times * size.pairs / MILLION * self.rates.core.evaluate, 0

    # --- what they share ---------------------------------------------------------------------------------------------

    def _runs(self, job: str) -> list[RunSpec]:
        return [self.plan.all_runs[name] for name in self.plan.jobs[job].runs]

    def _subspace_runs(self, job: str) -> list[SubspaceRun]:
        return [self.plan.subspaces.all_runs[name] for name in self.plan.subspaces.jobs[job].runs]

    def _encoder(self, dataset: str, encoder: str) -> EncodedRun:
        return self.plan.all_encoded[EncodedRun.named(dataset, encoder)]

    def _run(self, spec: RunSpec) -> tuple[float | None, int | None]:
        """Seconds and bytes of one training run."""
        sizes, rate = self._sizes_of(spec.dataset), self._model_rate(spec)
        if sizes is None or rate is None:
            return None, None
        train, dev, test = (sizes[split] for split in ("train", "dev", "test"))
        training = spec.training
        captions = _taken(train, spec.fraction, spec.captions_per_image).captions
        steps = training.epochs * math.ceil(captions / training.batch_size)
        scored = min(dev.images, training.selection_images or dev.images)
        times = math.ceil(training.epochs / training.score_every)
        scoring = times * _scoring(rate, scored) + _scoring(rate, dev.images) + _scoring(rate, test.images)
        disk = FLOAT32 * (dev.pairs + test.pairs + rate.parameters)
        return steps * rate.step + scoring, disk

    def _model_rate(self, spec: RunSpec) -> ModelRate | None:
        shape = self.shape_of(spec.dataset, spec.features)
        return None if shape is None else self.machine.models.get(setting_of(spec, shape))

    def _rates_of(self, spec: FeatureSpec) -> ExtractorRate | None:
        return self.machine.extractors.get(spec.source) or self.rates.core.extractors.get(spec.source)

    def _phi(self, phi: str, size: Size | None) -> tuple[float | None, int | None]:
        rate = self.rates.core.phis.get(phi)
        if size is None:
            return None, None
        return None if rate is None else size.pairs / MILLION * rate, size.pairs * FLOAT32

    def _part(self, dataset: str, rule: str, **wildcards: str) -> Size | None:
        """The training captions that a job reads."""
        size, params = self._size(dataset, "train"), self.plan.params_of(rule, dataset=dataset, **wildcards)
        if size is None:
            return None
        fraction, captions_per_image, *_ = params["part"]
        return _taken(size, fraction, captions_per_image)

    def _images(self, dataset: str) -> int | None:
        sizes = self._sizes_of(dataset)
        return None if sizes is None else sum(size.images for size in sizes.values())

    def _size(self, dataset: str, split: str) -> Size | None:
        sizes = self._sizes_of(dataset)
        return None if sizes is None else sizes.get(split)

    def _sizes_of(self, dataset: str) -> Mapping[str, Size] | None:
        if dataset not in self._sizes:
            self._sizes[dataset] = sizes_of(self.plan, dataset)
        return self._sizes[dataset]


def wall_seconds(graph: Graph, costs: Sequence[Cost], cores: int, gpus: int) -> float:
    """How long all jobs take on so many workers: whenever one is free, it takes the longest job that is ready.

    Args:
        graph: The jobs.
        costs: Theirs, in the same order; a job without a rate takes no time.
        cores: Jobs at a time that need no GPU.
        gpus: Jobs at a time that do.
    """
    made_by = {path: number for number, job in enumerate(graph.jobs) for path in job.outputs}
    awaited = [{made_by[path] for path in job.inputs if path in made_by} for job in graph.jobs]
    followers: list[list[int]] = [[] for _ in graph.jobs]
    for number, needed in enumerate(awaited):
        for one in needed:
            followers[one].append(number)
    ready: tuple[list[tuple[float, int]], ...] = ([], [])  # for cores, for GPUs; longest first
    running: list[tuple[float, int]] = []
    free, now = [cores, gpus], 0.0

    def make_ready(number: int) -> None:
        heapq.heappush(ready[costs[number].on_gpu], (-(costs[number].seconds or 0.0), number))

    for number, needed in enumerate(awaited):
        if not needed:
            make_ready(number)
    while any(ready) or running:
        for kind, waiting in enumerate(ready):
            while waiting and free[kind]:
                seconds, number = heapq.heappop(waiting)
                free[kind] -= 1
                heapq.heappush(running, (now - seconds, number))
        now, number = heapq.heappop(running)
        free[costs[number].on_gpu] += 1
        for one in followers[number]:
            awaited[one].discard(number)
            if not awaited[one]:
                make_ready(one)
    return now


def stage_of(job: PlannedJob, plan: Plan) -> str:
    """The stage of a job: the folder of results that it writes to, or ``data``."""
    first = job.outputs[0]
    for root in (plan.places.results, plan.places.data):
        if first.is_relative_to(root):
            return root.name if root == plan.places.data else first.relative_to(root).parts[0]
    return first.parts[0]


def _taken(train: Size, fraction: float, captions_per_image: int | None) -> Size:
    """A part of the training split, see ``corpus.training_part``."""
    captions = min(train.captions, train.images * (captions_per_image or train.captions)) * fraction
    return Size(math.ceil(train.images * fraction), math.ceil(captions))


def _scoring(rate: ModelRate, images: int) -> float:
    return rate.per_image * images + rate.per_pair * images**2


def _bytes(shape: Sequence[int]) -> int:
    numbers = math.prod(shape)
    return numbers * (FLOAT16 if numbers > LONGEST_FLOAT32_ROW else FLOAT32)


def _sum(values: Sequence[Any]) -> Any:
    """The sum of some numbers; None if one of them is not known."""
    return None if None in values else sum(values)


def _share(seconds: float | None, parts: int) -> float | None:
    return None if seconds is None else seconds / parts
