"""What the trainings of a plan cost: their steps, and the time that those take."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fivesentences.config.reading import read
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.places import Places
from fivesentences.training.spec import RunFile, RunSpec

# Seconds of a step, by GPU and model: 128 images of 36 regions and captions, float32 (benchmarks/README.md).
MEASURED: dict[str, dict[str, float]] = {"NVIDIA H200": {"scan": 0.011, "saf": 0.040, "sgr": 0.039}}
# Of a caption, and of an image with a caption that a run is evaluated on, on two cores (benchmarks/README.md).
SECONDS_TO_PARSE, SECONDS_PER_PAIR = 1195 / 24_824, 14 / (5000 * 25_000)
BENCHMARKS = Path("logs/benchmarks/training")


@dataclass(frozen=True)
class Training:
    """What some trainings cost.

    Attributes:
        runs: Number of runs.
        steps: Steps of all of them; of runs on data of unknown size none.
        seconds: Seconds of the steps whose time is known.
        untimed: Steps by models whose time is not known.
        models: These models, by name.
        unsized: Number of runs on data of unknown size.
    """

    runs: int
    steps: int
    seconds: float
    untimed: int
    models: tuple[str, ...]
    unsized: int

    @property
    def hours(self) -> str:
        """Hours in words, and that more is not known."""
        known = f"{self.seconds / 3600:,.1f}" if self.seconds else ""
        return " + ".join(filter(None, [known, "unknown" if self.untimed or self.unsized else ""]))


def steps_of(run: RunSpec, sizes: Mapping[str, tuple[int, int]]) -> int | None:
    """Return the batches of all epochs of a run; None where the size of its data is not known.

    Args:
        run: The run.
        sizes: Images and captions of each split of its dataset, see ``Datasets.sizes_of``.
    """
    images, captions = sizes.get("train", (0, 0))
    trained = int(captions * run.fraction)
    if captions and run.captions_per_image is not None:
        trained = math.ceil(trained * min(1.0, run.captions_per_image * images / captions))
    return run.training.epochs * math.ceil(trained / run.training.batch_size) if trained else None


def training_of(runs: Iterable[RunSpec], datasets: Datasets, seconds_per_step: Mapping[str, float]) -> Training:
    """Sum up what runs cost, each once.

    Args:
        runs: Runs of a plan.
        datasets: The datasets of that plan.
        seconds_per_step: By the model's name.
    """
    steps = {run.name: (run.model.name, steps_of(run, datasets.sizes_of(run.dataset))) for run in runs}
    known = [(model, count) for model, count in steps.values() if count is not None]
    untimed = [(model, count) for model, count in known if model not in seconds_per_step]
    return Training(
        runs=len(steps),
        steps=sum(count for _, count in known),
        seconds=sum(count * seconds_per_step[model] for model, count in known if model in seconds_per_step),
        untimed=sum(count for _, count in untimed),
        models=tuple(dict.fromkeys(model for model, _ in untimed)),
        unsized=len(steps) - len(known),
    )


def seconds_per_step(places: Places, datasets: Datasets, benchmarks: Path = BENCHMARKS) -> dict[str, float]:
    """Return how long a step of each model took in jobs that ran here, with all that a job does besides.

    Of several jobs the slowest counts: one that was repeated found finished runs, and took less.
    """
    found: dict[str, float] = {}
    for path in sorted(benchmarks.rglob("*.tsv")):
        job = path.relative_to(benchmarks).with_suffix("").as_posix()
        try:
            seconds = _seconds_in(path)
            models = _steps_trained(job, places, datasets)
        except (InputError, OSError, ValueError, LookupError, TypeError):  # of another version, or cut
            continue
        if seconds and len(models) == 1:
            ((model, steps),) = models.items()
            found[model] = max(found.get(model, 0.0), seconds / steps)
    return found


def _seconds_in(benchmark: Path) -> float:
    with benchmark.open(encoding="utf-8", newline="") as file:
        return sum(float(line["s"]) for line in csv.DictReader(file, delimiter="\t"))


def _steps_trained(job: str, places: Places, datasets: Datasets) -> dict[str, int]:
    """Return how many steps the runs of a finished job have taken, by model."""
    found: dict[str, int] = {}
    for name in read_json(places.record(job))["runs"]:
        folder = places.run(name)
        run = read(RunFile, folder / "run.yaml").run
        with (folder / "history.csv").open(encoding="utf-8", newline="") as file:
            epochs = sum(1 for _ in csv.DictReader(file))
        steps = steps_of(run, datasets.sizes_of(run.dataset)) or 0
        found[run.model.name] = found.get(run.model.name, 0) + steps * epochs // run.training.epochs
    return {model: steps for model, steps in found.items() if steps}
