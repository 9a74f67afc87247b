"""Settings of a user's SLURM cluster: account, partitions and their limits, the kind of GPU."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from fivesentences.config.types import Count, Strict

_TIME = r"^[0-9]+[mhd]$"  # such as 90m, 48h or 7d
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_.@:+-]*$"
_SET_BY_OTHERS = {  # the executor refuses them, but for the signal
    *(
        "--signal",
        "--account",
        "--partition",
        "--qos",
        "--time",
        "--mem",
        "--mem-per-cpu",
        "--ntasks",
        "--cpus-per-task",
    ),
    *("--cpus-per-gpu", "--ntasks-per-gpu", "--nodes", "--clusters", "--gres", "--gpus", "--job-name", "--output"),
    *("--error", "--parsable", "--export", "--comment", "--workdir"),
}
# As the executor accepts them: name, kind and number.
_GRES = r"^[A-Za-z0-9_]+(:[A-Za-z0-9_.]+)?(:[0-9]+[TGM]?)?$"
_GPU = r"^[A-Za-z0-9_.-]+$"
_SLURM_TIME = re.compile(r"(?:(\d+)-(\d+)(?::(\d+))?(?::(\d+))?|(?:(\d+):)?(\d+):(\d+))")
_MEGABYTES = {"": 1, "M": 1, "G": 1024, "T": 1024**2}


# What sinfo prints may be copied into the file.


def _time(given: Any) -> Any:
    """Turn ``1-00:00:00`` and ``30:00`` (minutes and seconds) into minutes; anything else stays."""
    if not isinstance(given, str) or not (found := _SLURM_TIME.fullmatch(given.strip())):
        return given
    days, of_day, minutes, seconds, hours, or_minutes, or_seconds = (int(part or 0) for part in found.groups())
    whole = ((days * 24 + of_day + hours) * 60 + minutes + or_minutes) * 60 + seconds + or_seconds
    return f"{max(whole // 60, 1)}m"


def _limit(given: Any) -> Any:
    """Turn ``infinite`` and ``n/a`` into None."""
    return None if str(given).strip().lower() in ("infinite", "unlimited", "n/a", "(null)") else given


def _at_least(given: Any) -> Any:
    """Turn ``64000+``, ``64G`` and ``64`` into a number, of memory in MB."""
    found = re.fullmatch(r"(\d+)\s*([MGT]?)B?\+?", given.strip(), re.IGNORECASE) if isinstance(given, str) else None
    return int(found[1]) * _MEGABYTES[found[2].upper()] if found else given


def _kinds(given: Any) -> Any:
    """Return the kinds in ``gpu:a100:4(S:0-1),gpu:2``, or a list of such texts and of names; None without a name."""
    entries = given if isinstance(given, list) else [given]
    if not all(isinstance(entry, str) for entry in entries):
        return given
    parts = [part.strip() for part in re.sub(r"\([^)]*\)", "", ",".join(entries)).split(",")]
    found = [(re.fullmatch(r"gpu(?::(.*?))??(?::\d+)?", part), part) for part in parts]
    return list(dict.fromkeys(kind for one, part in found if (kind := one[1] if one else part))) or None


def _kind(given: Any) -> Any:
    """Return the kind in ``gpu:a100:4``; anything else stays."""
    kinds = _kinds(given)
    return kinds[0] if kinds and len(kinds) == 1 else given


Megabytes = Annotated[int, Field(strict=True, ge=1, le=100_000_000), BeforeValidator(_at_least)]
Processors = Annotated[Count, BeforeValidator(_at_least)]
Time = Annotated[str, Field(pattern=_TIME), BeforeValidator(_time)]
Word = Annotated[str, Field(pattern=_WORD)]
PartitionName = Annotated[Word, BeforeValidator(lambda given: given.rstrip("*") if isinstance(given, str) else given)]
Gpu = Annotated[str, Field(pattern=_GPU), BeforeValidator(_kind)]


def constraint_in(sbatch: str | None) -> str | None:
    """Return the value of --constraint among options of sbatch, which the executor takes by itself alone."""
    return next((word[13:] for word in (sbatch or "").split() if word.startswith("--constraint=")), None)


def without_constraint(sbatch: str | None) -> str:
    """Return options of sbatch without --constraint."""
    return " ".join(word for word in (sbatch or "").split() if not word.startswith("--constraint="))


class Partition(Strict):
    """Limits of a partition; what is left out is without limit. The keys are those of Snakemake's SLURM executor."""

    max_runtime: Annotated[Time | None, BeforeValidator(_limit)] = None
    """The longest job, such as 48h or 2-00:00:00."""
    max_mem_mb: Megabytes | None = None
    """MB of memory of a node."""
    max_threads: Processors | None = None
    """Processors of a node."""
    max_gpu: Annotated[int, Field(strict=True, ge=0, le=64)] = 0
    """GPUs of a node."""
    available_gpu_models: Annotated[list[Gpu] | None, BeforeValidator(_kinds), BeforeValidator(_limit)] = None
    """Their kinds, such as [a100, h100]."""


class RuleChanges(Strict):
    """Resources of a rule's jobs that replace those of the rule."""

    mem_mb: Megabytes | None = None
    """MB of the first attempt; each retry asks for as much more."""
    runtime: Time | None = None
    """Such as 24h."""
    partition: PartitionName | None = None
    """Instead of the one that fits best."""
    cpus: Processors | None = None
    """Processors."""
    gres: Annotated[str, Field(pattern=_GRES)] | None = None
    """Generic resources, such as gpu:1 or gpu:a100:1 where the cluster takes no --gpus, or lscratch:50."""
    sbatch: str | None = None
    """Further options of sbatch for its jobs, beside those of every job."""

    @property
    def asks_for_gpu(self) -> bool:
        """Whether ``gres`` names GPUs."""
        return (self.gres or "").partition(":")[0] == "gpu"

    @model_validator(mode="after")
    def _number_of_gpus(self) -> RuleChanges:
        if self.asks_for_gpu and not str(self.gres).rpartition(":")[2].isdigit():
            raise ValueError(f"gres is '{self.gres}', which names no number of GPUs; write {self.gres}:1")
        return self


class Cluster(Strict):
    """A SLURM cluster and what it wants to be told with every job."""

    partitions: dict[PartitionName, Partition] = Field(min_length=1)
    """By name; a job goes to the one that it fits best."""
    account: Word | None = None
    """Charged for jobs; null: your default account, or none."""
    qos: Word | None = None
    """Quality of service; null: the default one."""
    gpu_model: Gpu | None = None
    """The kind of GPU that jobs ask for; null: any."""
    sbatch: str | None = None
    """Further options of sbatch for every job, such as --constraint=ib or --exclude=n17."""
    prologue: list[str] = Field(default_factory=list)
    """Commands of sh that each job runs first, such as "module load cuda/12.4"; it fails where one does."""
    retries: Annotated[int, Field(strict=True, ge=0, le=10)] = 2
    """How often a failed job is submitted again, each time with more memory."""
    jobs: Count | None = None
    """At most so many jobs at a time; null: as many as SLURM lets you submit."""
    status: Literal["squeue", "sacct"] = "squeue"
    """What is asked how jobs are; sacct only where squeue forgets finished jobs at once (MinJobAge)."""
    seconds_between_status_checks: Count = 10
    """Seconds between such questions."""
    seconds_to_save: Annotated[int, Field(strict=True, ge=5, le=3600)] = 120
    """How long before its time limit a training is asked to save its state and end."""
    rules: dict[str, RuleChanges] = Field(default_factory=dict)
    """What jobs of a rule ask for, by its name, instead of what the rule says."""

    @property
    def gpu_by_partition(self) -> bool:
        """Whether the partition alone decides the kind of GPU: the executor (2.8) passes sbatch no name with a dash."""
        return "-" in (self.gpu_model or "")

    @model_validator(mode="after")
    def _partition_of_gpu(self) -> Cluster:
        offering = [one for one in self.partitions.values() if one.max_gpu]
        if self.gpu_by_partition and all(one.available_gpu_models != [self.gpu_model] for one in offering):
            raise ValueError(
                f"gpu_model is '{self.gpu_model}', and a name with a dash cannot be passed to sbatch; "
                f"add a partition with max_gpu and this kind alone (available_gpu_models: [{self.gpu_model}])"
            )
        if self.gpu_model is not None and not any(
            one.available_gpu_models is None or self.gpu_model in one.available_gpu_models for one in offering
        ):
            raise ValueError(
                f"gpu_model is '{self.gpu_model}', but no partition with max_gpu of at least 1 names it among its "
                "available_gpu_models; correct one of them"
            )
        for rule, changes in self.rules.items():
            if changes.partition is not None and changes.partition not in self.partitions:
                raise ValueError(
                    f"rules.{rule}.partition is '{changes.partition}', which is not among partitions; add it there"
                )
        return self

    @model_validator(mode="after")
    def _commands_of_prologue(self) -> Cluster:
        for command in self.prologue:
            if not command.strip():
                raise ValueError("prologue has an empty command; leave it out")
            if strange := [sign for sign in "$`\\\n" if sign in command]:
                raise ValueError(
                    f"prologue has the sign {strange[0]!r} in '{command}', which the login node would interpret; put "
                    "the command into a file of your own and name that (`. ./mine.sh`)"
                )
        return self

    @model_validator(mode="after")
    def _options_of_sbatch(self) -> Cluster:
        given = {"sbatch": self.sbatch} | {f"rules.{rule}.sbatch": its.sbatch for rule, its in self.rules.items()}
        for key, options in given.items():
            for word in (options or "").split():
                if word.partition("=")[0] in _SET_BY_OTHERS:
                    raise ValueError(f"{key} has {word}, which other keys of this file or rules set; leave it out")
            strange = [sign for sign in "\"'`$;&|<>\n\\" if sign in (options or "")]
            if strange:
                raise ValueError(f"{key} has the sign {strange[0]!r}, which a shell would interpret; leave it out")
        return self
