"""From a corpus and features to weights and similarities: the loop, its data, and exact resuming."""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.training.checkpoint import TrainedModel, load_trained
    from fivesentences.training.run import Run, read_run, train_run, train_runs
    from fivesentences.training.vocabulary import Vocabulary

__all__ = ["Run", "TrainedModel", "Vocabulary", "load_trained", "read_run", "train_run", "train_runs"]

# Not torch before a run is trained: a process of `side_by_side` or a test of a signal imports this package.
__getattr__ = lazily(__name__)
