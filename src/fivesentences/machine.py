"""The resources of this machine: processors, and devices to compute on."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from fivesentences.errors import Argument, InputError

# What libraries read, as they start, for the number of their threads; by itself it is that of the processors.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def package_folder(package: str) -> Path | None:
    """Return the folder of an installed package, which is not imported; None if it is not installed."""
    found = importlib.util.find_spec(package)
    return None if found is None or not found.submodule_search_locations else Path(found.submodule_search_locations[0])


def processors() -> int:
    """Return the number of processors that this process may use, at least 1."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))  # a scheduler or a container may have left it some of them
    return os.cpu_count() or 1


def threads() -> int:
    """Number of processors that this process may use, at most four: beyond that, memory bandwidth is the limit."""
    return min(4, processors())


def hardware() -> dict[str, Any]:
    """Return the hardware as plain data: system, processor, cores, memory in GB, and GPU if any."""
    found: dict[str, Any] = {"system": platform.system(), "machine": platform.machine(), "cores": processors()}
    found["processor"] = _fact("/proc/cpuinfo", "model name") or platform.processor() or None
    memory = _fact("/proc/meminfo", "MemTotal")  # in kB
    found["memory_gb"] = round(int(memory.split()[0]) / 2**20) if memory else None
    found["gpu"] = None
    if best_device() == "cuda":
        import torch

        found["gpu"] = torch.cuda.get_device_name()
    return found


def available_memory() -> int | None:
    """Return how many bytes this process may still take, swap included; None where the system does not say.

    The least of what the machine has, what the control groups of a job or a container leave, and what the limits of the
    process do. Memory that the system gives back when it is needed, such as of files that were read, counts.
    """

    if sys.platform != "linux":
        return None
    import resource

    limits = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
    left = [_bytes("/proc/meminfo", "MemAvailable", sys.maxsize) + _bytes("/proc/meminfo", "SwapFree")]
    for limit, used in limits:
        if (allowed := resource.getrlimit(limit)[0]) != resource.RLIM_INFINITY:
            left.append(allowed - _bytes("/proc/self/status", used))
    groups = Path("/proc/self/cgroup").read_text(encoding="utf-8") if Path("/proc/self/cgroup").is_file() else ""
    for kind, group in (line.split(":", 2)[1:] for line in groups.splitlines()):
        if kind in ("", "memory"):
            root = Path("/sys/fs/cgroup", kind)
            inside = root / group.strip("/")
            most, now = ("memory.limit_in_bytes", "memory.usage_in_bytes") if kind else ("memory.max", "memory.current")
            for folder in (one for one in (inside, *inside.parents) if one.is_relative_to(root)):
                files = [_bytes(folder / "memory.stat", f"(?:total_)?{of}_file") for of in ("inactive", "active")]
                left.append(_bytes(folder / most, "", sys.maxsize) - _bytes(folder / now, "") + sum(files))
    return max(0, min(left))


def _bytes(path: Path | str, name: str, otherwise: int = 0) -> int:
    """Return the largest number that a file of Linux says behind a name, in bytes."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return otherwise
    found = re.findall(rf"^{name}:?\s*(\d+)( kB)?$", text, flags=re.MULTILINE)
    return max((int(number) * (1024 if unit else 1) for number, unit in found), default=otherwise)


def cpu_kind() -> str:
    """The hardware behind the last digits of a training on the CPU: its vendor and torch's instructions for it."""
    try:
        import torch

        capability = torch.backends.cpu.get_cpu_capability()
    except ImportError:
        capability = "without torch"
    return f"{_fact('/proc/cpuinfo', 'vendor_id') or platform.machine()} {capability}"


def _fact(path: str, name: str) -> str | None:
    """Return what a file of Linux says behind a name; None if it, or the file, is not there."""
    text = Path(path).read_text(encoding="utf-8", errors="replace") if Path(path).is_file() else ""
    found = re.search(rf"^{name}\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return found[1].strip() if found else None


def best_device() -> str:
    """``cuda`` if torch finds such a device, otherwise ``cpu``; torch is imported only where there is a driver."""
    if "torch" not in sys.modules and not _has_driver():
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def device_named(name: str) -> str:
    """Return the device of a name: ``cpu``, ``cuda``, or ``auto`` for the better one that there is.

    Raises:
        InputError: If it is another name, or there is no such device; with ``auto`` too if SLURM has granted a GPU that
            torch does not find, which would be held for days by a training on the processor.
    """
    if name not in ("cpu", "cuda", "auto"):
        raise InputError(f"is '{name}'; it is 'cpu', 'cuda' or 'auto'.", where=Argument("device"))
    best = "cpu" if name == "cpu" else best_device()
    if name == "cuda" and best != "cuda":
        raise InputError("is 'cuda', but torch finds no CUDA device; use 'cpu' or 'auto'.", where=Argument("device"))
    return cuda() if name == "auto" and os.environ.get("SLURM_JOB_GPUS") else best


def cuda() -> str:
    """Return ``cuda``, for work that would take days on the processor.

    Raises:
        InputError: If torch finds no such device.
    """
    if best_device() == "cuda":
        return "cuda"
    granted = os.environ.get("SLURM_JOB_GPUS")
    asked, found = f"SLURM has granted GPU {granted}" if granted else "the scale says gpu: true", "there is no torch"
    if package_folder("torch") is not None:
        import torch

        found = f"torch {torch.__version__} (CUDA {torch.version.cuda}) finds none"
    raise InputError(
        f"{asked}, and {found}; install torch for the driver that nvidia-smi shows there, or set gpu: false."
    )


def may_find_cuda() -> bool:
    """Tell whether work of this machine may find a CUDA device, which without torch is not known."""
    return best_device() == "cuda" if package_folder("torch") is not None else _has_driver()


def find_a_cache(other: Path) -> None:
    """Name ``other`` as the cache of this process and its children if the home's cannot be written.

    Snakemake, matplotlib and the Hub's client keep files there. Snakemake cannot start without it.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "snakemake")
    try:
        cache.expanduser().mkdir(parents=True, exist_ok=True)
        writable = os.access(cache.expanduser(), os.W_OK)
    except (OSError, RuntimeError):  # the latter where nobody knows the home
        writable = False
    if not writable:
        os.environ["XDG_CACHE_HOME"] = str(other.absolute())


def stay_offline() -> None:
    """Let the libraries of this process and its children take models from their caches, without asking the Hub.

    To be called before huggingface_hub is imported, which reads this once. Nodes of a cluster often have no network,
    and the attempt to reach one takes a while; others stay with what was fetched.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"


def _has_driver() -> bool:
    """Return True if NVIDIA's driver, or the device of AMD's, is on a Linux machine; elsewhere torch is asked."""
    if sys.platform != "linux" or Path("/dev/kfd").exists():
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True
