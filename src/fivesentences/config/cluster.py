"""Settings of a user's SLURM cluster: account, partitions and their limits, the kind of GPU."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Count, Strict

_TIME = r"^[0-9]+[mhd]$"  # such as 90m, 48h or 7d
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_.@:+-]*$"
_GPU = r"^[A-Za-z0-9_.]+$"  # as the executor of Snakemake has it
Megabytes = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
Time = Annotated[str, Field(pattern=_TIME)]
Word = Annotated[str, Field(pattern=_WORD)]
Gpu = Annotated[str, Field(pattern=_GPU)]


class Partition(Strict):
    """Limits of a partition; what is left out is without limit. The keys are those of Snakemake's SLURM executor."""

    max_runtime: Time | None = None
    """The longest job, such as 48h."""
    max_mem_mb: Megabytes | None = None
    """MB of memory of a node."""
    max_threads: Count | None = None
    """Processors of a node."""
    max_gpu: Annotated[int, Field(strict=True, ge=0, le=64)] = 0
    """GPUs of a node."""
    available_gpu_models: list[Gpu] | None = None
    """Their kinds, such as [a100, h100]."""


class RuleChanges(Strict):
    """Resources of a rule's jobs that replace those of the rule."""

    mem_mb: Megabytes | None = None
    """MB of the first attempt; each retry asks for as much more."""
    runtime: Time | None = None
    """Such as 24h."""
    partition: Word | None = None
    """Instead of the one that fits best."""
    cpus: Count | None = None
    """Processors."""


class Cluster(Strict):
    """A SLURM cluster and what it wants to be told with every job."""

    partitions: dict[Word, Partition] = Field(min_length=1)
    """By name; a job goes to the one that it fits best."""
    account: Word | None = None
    """Charged for jobs; null: your default account, or none."""
    qos: Word | None = None
    """Quality of service; null: the default one."""
    gpu_model: Gpu | None = None
    """The kind of GPU that jobs ask for; null: any."""
    sbatch: str | None = None
    """Further options of sbatch for every job, such as --constraint=ib or --exclude=n17."""
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

    @model_validator(mode="after")
    def _partition_of_gpu(self) -> Cluster:
        offering = [one for one in self.partitions.values() if one.max_gpu]
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
    def _options_of_sbatch(self) -> Cluster:
        words = (self.sbatch or "").split()
        taken = [word for word in words if word.startswith("--signal")]
        if taken:
            raise ValueError(f"sbatch has {taken[0]}, which seconds_to_save sets; leave it out")
        strange = [sign for sign in "\"'`$;&|<>\n\\" if sign in (self.sbatch or "")]
        if strange:
            raise ValueError(f"sbatch has the sign {strange[0]!r}, which a shell would interpret; leave it out")
        return self
