"""Captions in another order than their images get a note; captions in order never do."""

import numpy as np
import pytest

from fivesentences import evaluate
from fivesentences.commands.example import FILES
from fivesentences.semantics import cider_matrix
from fivesentences.semantics.caption_order import note_on_order
