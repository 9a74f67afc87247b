"""From a corpus and features to weights and similarities: the loop, its data, and exact resuming."""

from fivesentences.training.checkpoint import TrainedModel, load_trained
from fivesentences.training.run import Run, read_run, train_run, train_runs
from fivesentences.training.vocabulary import Vocabulary

__all__ = ["Run", "TrainedModel", "Vocabulary", "load_trained", "read_run", "train_run", "train_runs"]
