"""The device that work goes to, and the memory that is left for it."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    with pytest.raises(InputError) as under_slurm:
        machine.cuda()
    monkeypatch.delenv("SLURM_JOB_GPUS")
    with pytest.raises(InputError) as elsewhere:
        machine.cuda()
    said = [str(error.value).partition(", and torch ") for error in (under_slurm, elsewhere)]
    assert [begins for begins, *_ in said] == ["SLURM has granted GPU 3", "the scale says gpu: true"]
    assert said[0][2] == said[1][2] and said[0][2].endswith("or set gpu: false.")
    monkeypatch.setattr(machine, "best_device", lambda: "cuda")
    assert machine.device_named("auto") == machine.cuda() == "cuda"


@pytest.mark.parametrize("driver", [False, True])
def test_where_jobs_bring_their_own_torch_the_driver_decides(driver, monkeypatch: pytest.MonkeyPatch) -> None:
    # As with --software-deployment-method apptainer, where Snakemake itself is installed without torch.
    monkeypatch.setattr(machine, "package_folder", lambda package: None)
    monkeypatch.setattr(machine, "_has_driver", lambda: driver)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert machine.may_find_cuda() == driver


@pytest.mark.parametrize("limit", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_the_memory_that_is_left_is_within_the_limits_of_the_process(limit):
    known = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total = 1024 * sum(int(known[name].split()[0]) for name in ("MemTotal", "SwapTotal"))
    assert 0 < (machine.available_memory() or 0) <= total
    program = "from fivesentences.machine import available_memory; print(available_memory())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, preexec_fn=_limited(limit, 2**30)
    )
    assert 2**28 < int(done.stdout) < 2**30


@pytest.mark.parametrize("kind", ["", "memory"])
def test_the_memory_of_a_job_is_what_its_control_groups_leave(kind, tmp_path, monkeypatch):
    most, now, total = ("limit_in_bytes", "usage_in_bytes", "total_") if kind else ("max", "current", "")
    root = tmp_path / "sys/fs/cgroup" / kind
    for group, limit, used in (("", "max", 9 << 30), ("slurm/job", 1 << 30, 900 << 20), ("slurm/job/step", "max", 5)):
        (root / group).mkdir(parents=True, exist_ok=True)
        for name, text in ((most, limit), (now, used)):
            (root / group / f"memory.{name}").write_text(f"{text}\n")
        lines = f"inactive_file 7\n{total}inactive_file {300 << 20}\n{total}active_file {50 << 20}\nanon 5\n"
        (root / group / "memory.stat").write_text(lines)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"9:cpu:/other\n4:{kind}:/slurm/job/step\n")
    monkeypatch.setattr(
        machine, "Path", lambda *parts: Path(*parts) if "meminfo" in str(parts) else _below(tmp_path, *parts)
    )
    # A GiB, of which 900 MiB are taken, 350 MiB of them by files that the system would give back.
    assert machine.available_memory() == (1 << 30) - (900 << 20) + (350 << 20)


def _below(folder: Path, first: str | Path, *parts: str) -> Path:
    inside = Path(first).is_relative_to(folder)
    return Path(first if inside else folder / str(first).removeprefix("/"), *parts)


@pytest.mark.slow
def test_a_similarity_beyond_the_memory_gives_the_same_numbers_from_the_disk(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.standard_normal((1_600, 8), dtype=np.float32)
    captions = np.repeat(images, 25, axis=0) + rng.standard_normal((40_000, 8), dtype=np.float32)
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "captions.npy", captions)
    (tmp_path / "maps").mkdir()
    command = [sys.executable, "-m", "fivesentences", "evaluate", "images.npy,captions.npy"]
    told = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300}
    env = {"TMPDIR": str(tmp_path / "maps"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    whole = subprocess.run(command, check=True, env=env, **told)
    less = subprocess.run(command, check=False, env=env, preexec_fn=_limited(resource.RLIMIT_DATA, 600 * 2**20), **told)
    assert (less.returncode, less.stdout) == (0, whole.stdout) and "R@k" in whole.stdout
    assert "256,000,000 bytes" in less.stderr and "256,000,000" not in whole.stderr
    assert not list(Path(tmp_path / "maps").iterdir())


def _limited(limit: int, size: int):
    return lambda: resource.setrlimit(limit, (size, size))
