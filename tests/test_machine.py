"""The device that work goes to."""

from __future__ import annotations

import pytest

from fivesentences import machine
from fivesentences.errors import InputError


def test_a_job_whose_gpu_torch_does_not_find_ends_and_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "best_device", lambda: "cpu")
    monkeypatch.delenv("SLURM_JOB_GPUS", raising=False)
    assert machine.device_named("auto") == "cpu"
    monkeypatch.setenv("SLURM_JOB_GPUS", "3")
    with pytest.raises(InputError, match=r"GPU 3.*torch"):
        machine.device_named("auto")
    assert machine.device_named("cpu") == "cpu"  # asked for: a scale without `gpu`
    monkeypatch.setattr(machine, "best_device", lambda: "cuda")
    assert machine.device_named("auto") == "cuda"
