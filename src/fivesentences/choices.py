"""Choices that the configuration, functions and commands share; nothing here needs pydantic or numpy."""

from typing import Literal

Direction = Literal["i2t", "t2i"]
Split = Literal["train", "dev", "test"]
Precision = Literal["float32", "bfloat16", "float16"]
# Inference methods that read training queries, which a run's weights must score first.
BANKED = ("qb_norm", "dual_bank")
