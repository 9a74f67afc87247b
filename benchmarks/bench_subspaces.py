"""What a run of category retrieval costs: in groups per process, with dropout and validation as they are made here.

python benchmarks/bench_subspaces.py                                        # the printed shape, minutes
python benchmarks/bench_subspaces.py --documents 120 --runs 2 --epochs 2 --hidden 16 --output 8   # seconds

Documents of random vectors, 128 numbers for an image and 10 for a text, ten categories, 231 for validation and 462 for
test of 2,866. Compared are, in processes of their own that alternate: all runs in one process against one process per
run, from the shell's point of view; and, within one process, dropout from random bytes against random floats,
validation after every second epoch against every epoch, and the steps of this package against the same network with
autograd and torch.optim.SGD. The outputs of both groupings are compared byte by byte.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from unittest import mock

import numpy as np
import torch

from captions import machine
from fivesentences.config.reading import check
from fivesentences.reproduction.categories.config import SubspaceTraining
from fivesentences.reproduction.categories.corpus.divisions import write_division
from fivesentences.reproduction.categories.corpus.documents import Division, Documents, write_documents
from fivesentences.reproduction.categories.inputs import Inputs
from fivesentences.reproduction.categories.models.specs import TripletNetwork
from fivesentences.reproduction.categories.runs import PlacedRun, SubspaceRun
from fivesentences.reproduction.categories.training import triplets
from fivesentences.reproduction.categories.training.run import outputs_of_run
from fivesentences.reproduction.categories.training.triplets import fit_triplets
from fivesentences.training.loop import reproducible

IMAGE, TEXT, CATEGORIES = 128, 10, 10
GROUP = """
import json, sys
from pathlib import Path
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.categories.training.run import train_subspaces
folder = Path(sys.argv[1])
train_subspaces([PlacedRun.of(run) for run in json.loads(sys.argv[2])], documents=folder / "documents.parquet",
                image=folder / "image.npy", text=folder / "text.npy")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2866)
    parser.add_argument("--runs", type=int, default=5, help="of a group, alternately scheduled and fixed margins")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=1, help="times of each side; the median counts")
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--output", type=int, default=200)
    arguments = parser.parse_args()
    print(machine())
    training = SubspaceTraining(epochs=arguments.epochs, hidden=arguments.hidden, output=arguments.output)
    compare_processes(arguments, training)
    compare_steps(arguments, training)


def made_up(size: int) -> tuple[Inputs, tuple[np.ndarray, ...]]:
    """Documents whose vectors tell something of their category, and rows of training, validation and test."""
    rng = np.random.default_rng(0)
    categories = rng.permutation(np.arange(size) % CATEGORIES).astype(np.int64)
    parts = []
    for width in (IMAGE, TEXT):
        centres = 0.3 * rng.normal(size=(CATEGORIES, width))
        parts.append((centres[categories] + rng.normal(size=(size, width))).astype(np.float32))
    ends = [size * 2173 // 2866, size * (2173 + 231) // 2866]
    return Inputs(parts[0], parts[1], categories), tuple(map(np.sort, np.split(rng.permutation(size), ends)))


def compare_processes(arguments: argparse.Namespace, training: SubspaceTraining) -> None:
    """All runs in one process, and each in one of its own: CPU seconds with start-up, wall time, equal bytes."""
    inputs, parts = made_up(arguments.documents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids = tuple(map(str, range(len(inputs))))
        nothing = ("",) * len(inputs)
        names = tuple(f"category {number}" for number in inputs.categories)
        documents = Documents(ids, names, nothing, nothing, (None,) * len(inputs), ids)
        write_documents(documents, folder / "documents.parquet")
        np.save(folder / "image.npy", inputs.images)
        np.save(folder / "text.npy", inputs.texts)
        write_division(folder / "division.csv", documents, Division(*parts))
        spent: dict[str, list[tuple[float, float]]] = {"together": [], "alone": []}
        for turn in range(arguments.repeat):
            for side in spent:
                runs = [placed(folder, f"{side}{turn}", number, training) for number in range(arguments.runs)]
                groups = [runs] if side == "together" else [[run] for run in runs]
                before, began = children_seconds(), time.perf_counter()
                for group in groups:
                    given = json.dumps([run.plain for run in group])
                    command = [sys.executable, "-c", GROUP, str(folder), given]
                    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                spent[side].append((children_seconds() - before, time.perf_counter() - began))
        together, alone = (
            [placed(folder, f"{side}0", number, training) for number in range(arguments.runs)] for side in spent
        )
        equal = all(
            (a.folder / file).read_bytes() == (b.folder / file).read_bytes()
            for a, b in zip(together, alone, strict=True)
            for file in outputs_of_run(a.run)
        )
    cpu, wall = ({side: median(turn[place] for turn in spent[side]) for side in spent} for place in (0, 1))
    for side, words in (("together", "in one process"), ("alone", "one process each")):
        each = cpu[side] / arguments.runs
        print(f"{arguments.runs} runs {words}: {cpu[side]:.1f} s of CPU ({each:.1f} s a run), {wall[side]:.1f} s")
    ratios = {name: spent["alone"] / spent["together"] for name, spent in (("CPU seconds", cpu), ("wall time", wall))}
    print("one process each, times in one process: " + ", ".join(f"{name} {r:.2f}" for name, r in ratios.items()))
    print(f"outputs equal byte by byte: {'yes' if equal else 'NO'}")
    if not equal:
        sys.exit(1)


def placed(folder: Path, side: str, number: int, training: SubspaceTraining) -> PlacedRun:
    loss = {"toward": "adaptive"} if number % 2 == 0 else {"toward": "nothing"}
    run = {
        **{"documents": "made_up", "division": "printed", "image": "standardise", "text": "standardise", "words": 1},
        **{"seed": number // 2, "method": {"method": "triplets", "loss": loss}, "training": training.model_dump()},
    }
    return PlacedRun(check(SubspaceRun, run, "run"), folder / side / str(number), folder / "division.csv")


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def float_mask(shape: tuple[int, ...], share: float, generator: np.random.Generator) -> torch.Tensor:
    """Dropout as most would write it; the generator only stands in the place of ours."""
    return (torch.rand(shape) >= share).float() / (1 - share)


def compare_steps(arguments: argparse.Namespace, training: SubspaceTraining) -> None:
    """CPU seconds of one run: as it is, and with one thing undone."""
    whole, parts = made_up(arguments.documents)
    train, validation = (Inputs(whole.images[p], whole.texts[p], whole.categories[p]) for p in parts[:2])
    names = [str(number) for number in range(CATEGORIES)]

    def run(loss: dict[str, str], changed: SubspaceTraining = training) -> Callable[[], object]:
        spec = check(TripletNetwork, {"method": "triplets", "loss": loss}, "method")
        return lambda: fit_triplets(spec, train, validation, 0, changed, names)

    def with_floats() -> None:
        with mock.patch.object(triplets, "dropout_mask", float_mask):
            run({"toward": "nothing"})()

    every = training.model_copy(update={"validate_every": 1})
    ways: dict[str, Callable[[], object]] = {
        "fixed margin": run({"toward": "nothing"}),
        "scheduled adaptive margin": run({}),
        "scheduled, centroids after every step": run({"refresh": "step"}),
        "fixed margin, dropout from random floats": with_floats,
        "fixed margin, validation after every epoch": run({"toward": "nothing"}, every),
        "fixed margin, autograd and torch.optim.SGD": lambda: plain(train, training),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    torch.optim.SGD([torch.zeros(1)], lr=1.0)  # the first one imports torch's compiler, which is no step
    with reproducible(1, torch.device("cpu")):
        for _ in range(arguments.repeat):
            for name, way in ways.items():
                began = time.process_time()
                way()
                seconds[name].append(time.process_time() - began)
    least = median(seconds["fixed margin"])
    for name, turns in seconds.items():
        print(f"{name}: {median(turns):.1f} s of CPU, {median(turns) / least:.2f} times the fixed margin's")


def plain(train: Inputs, training: SubspaceTraining) -> None:
    """The same steps with modules, autograd and torch's optimiser, without any validation."""
    from torch import nn

    sides = [torch.from_numpy(train.images), torch.from_numpy(train.texts)]
    labels = torch.from_numpy(train.categories)
    nets = [
        nn.Sequential(
            *(nn.Linear(side.shape[1], training.hidden), nn.Tanh(), nn.Dropout(training.dropout)),
            *(nn.Linear(training.hidden, training.output), nn.Tanh()),
        )
        for side in sides
    ]
    weights = [weight for net in nets for weight in net.parameters()]
    sgd = torch.optim.SGD(weights, lr=training.learning_rate, momentum=training.momentum, nesterov=True)
    for _ in range(training.epochs):
        for rows in torch.randperm(len(labels)).split(training.batch_size):
            v, t = (nn.functional.normalize(net(side[rows])) for net, side in zip(nets, sides, strict=True))
            scores, different = v @ t.T, labels[rows][:, None] != labels[rows]
            own = scores.diagonal()
            hinges = [(1.0 - own[:, None] + one).clamp(min=0) * different for one in (scores, scores.T)]
            sgd.zero_grad()
            ((hinges[0].sum() + hinges[1].sum()) / len(rows)).backward()
            sgd.step()


if __name__ == "__main__":
    main()
