"""What the time of a run of category retrieval depends on, and how much of it a rate foresees."""

from __future__ import annotations

from fivesentences.config.documents import SELECTIONS
from fivesentences.config.rates import SubspaceRate
from fivesentences.losses.scheduled_margin import ScheduledMarginSpec
from fivesentences.models.subspaces.specs import AnyMethod, OtherNetwork, SemanticMatching, TripletNetwork
from fivesentences.plan.document_sizes import DocumentSizes
from fivesentences.plan.subspace_runs import SubspaceRun

FLOAT32 = 4
# Settings of a loss that add work to a step; how a margin moves hardly changes its time.
WORK_OF_A_STEP = ("shuffled", "refresh", "feature_scope", "anchor", "negatives")


def subspace_setting(run: SubspaceRun, image: int, text: int) -> str:
    """What the time of a run depends on beside documents and epochs, such as ``PLS, dimensions=9, 128 + 10``.

    Args:
        run: The run.
        image: Numbers of an image's vector.
        text: Numbers of a text's vector.
    """
    method = run.method
    name = method.called
    if isinstance(method, TripletNetwork):
        name = ", ".join([method.title, *_work_of(method.loss)])
    elif isinstance(method, SemanticMatching):
        name = ", ".join([name, method.classifier, *(["strength given"] if method.strength is not None else [])])
    sizes = [f"{key}={value}" for key in ("dimensions", "components", "documents") if (value := _of(method, key))]
    parts = [name, *sizes, f"{image} + {text}"]
    if method.iterative:
        hidden, output = widths_of(run)
        parts += [f"{hidden} to {output}", f"batch {run.training.batch_size}"]
    return ", ".join(parts)


def widths_of(run: SubspaceRun) -> tuple[int, int]:
    """Widths of the hidden layer and of the subspace of a method with epochs."""
    method, scale = run.method, run.training
    training = method.training(scale) if isinstance(method, OtherNetwork) else scale
    return _of(method, "hidden") or training.hidden, _of(method, "output") or training.output


def epochs_of(run: SubspaceRun) -> int:
    """Epochs of a run, of all margins that it tries; 0 for a method without epochs."""
    method = run.method
    if isinstance(method, TripletNetwork):
        return run.training.epochs * len(method.margins or [None])
    return method.training(run.training).epochs if isinstance(method, OtherNetwork) else 0


def seconds_of(run: SubspaceRun, sizes: DocumentSizes, rate: SubspaceRate) -> float:
    """Seconds of a run: in proportion to its training documents and epochs."""
    return sizes.train / 1000 * (rate.start + epochs_of(run) * rate.epoch)


def kept_of(run: SubspaceRun) -> int:
    """How many epochs' vectors of test documents a run keeps."""
    return len(SELECTIONS) if run.method.iterative else 1


def bytes_of(run: SubspaceRun, sizes: DocumentSizes) -> int:
    """Bytes of the vectors of test documents; those of methods without epochs have a few numbers each."""
    return FLOAT32 * 2 * sizes.test * widths_of(run)[1] * kept_of(run) if run.method.iterative else 0


def _work_of(loss: ScheduledMarginSpec) -> list[str]:
    usual = type(loss)().model_dump()
    given = {key: value for key in WORK_OF_A_STEP if (value := getattr(loss, key)) != usual[key]}
    if not loss.reads_features:
        given = {key: value for key, value in given.items() if key not in ("feature_scope", "anchor")}
    words = [f"toward={loss.toward}", *(key if value is True else f"{key}={value}" for key, value in given.items())]
    if loss.toward == "adaptive":
        words += [] if loss.reads_features else ["no features"]
        words += [] if loss.reads_centroids else ["no centroids"]
    return words


def _of(method: AnyMethod, key: str) -> int | None:
    value = getattr(method, key, None)
    return value if isinstance(value, int) else None
