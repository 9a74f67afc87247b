"""Settings of Snakemake's SLURM executor, for the profile ``profiles/slurm``."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.config.reading import read
from fivesentences.errors import InputError, did_you_mean
from fivesentences.reproduction.config.cluster import Cluster, constraint_in, without_constraint

FILE, VARIABLE = Path("profiles/slurm/cluster.yaml"), "FIVESENTENCES_CLUSTER"
# Rules that save their state when SLURM announces the time limit.
RESUMED_RULES = ("train",)
# Rules that compute on a GPU where the scale's training does.
GPU_RULES = ("extract_features", "detect_regions", "extract_part", "check_regions", "train")
SUBMITTED_RULES = {
    *(*GPU_RULES, *RESUMED_RULES),
    *("parse_captions", "parse_training_captions", "score_captions", "score_training_captions", "prepare_cider"),
    *("train_subspaces", "evaluate_subspaces"),
    *("draw_scenes", "load_corpus", "encode_captions", "label_images", "keep_documents", "keep_documents_of_words"),
    *("join_features", "reduce_features", "describe_precomp", "evaluate", "compare_retrievals", "find_disagreements"),
    *("score_banks",),
    *("contrast_runs", "contrast_subspaces", "project_subspace", "ask_judge", "find_positives", "measure_phi"),
    *("list_images", "measure_margins", "show_features", "show_gallery", "write_manifest"),
}


@dataclass(frozen=True)
class SlurmSettings:
    """Settings of a cluster as the profile reads them.

    Attributes:
        cluster: Settings that the user wrote.
    """

    cluster: Cluster

    @property
    def file(self) -> str:
        """Write the partitions as the executor reads them; the file is removed when this process ends."""
        told = {name: limits.model_dump(exclude_none=True) for name, limits in self.cluster.partitions.items()}
        for limits in told.values() if self.cluster.gpu_by_partition else ():
            if limits.get("available_gpu_models") != [self.cluster.gpu_model]:
                limits["max_gpu"] = 0
        with tempfile.NamedTemporaryFile("w", suffix=".json", prefix="partitions-", delete=False) as written:
            json.dump({"partitions": told}, written)
        atexit.register(Path(written.name).unlink, missing_ok=True)
        return written.name

    @property
    def jobs(self) -> int | str:
        """At most so many jobs at a time."""
        return self.cluster.jobs or "unlimited"

    @property
    def max_threads(self) -> int | None:
        """Processors of the largest node; a job that asks for more would wait for ever. None: no limit is known."""
        offered = [partition.max_threads for partition in self.cluster.partitions.values()]
        return None if None in offered else max(count for count in offered if count is not None)

    @property
    def precommand(self) -> str:
        """Commands that each job runs before anything else."""
        return " && ".join(self.cluster.prologue)

    @property
    def default_resources(self) -> dict[str, Any]:
        """Return what every job asks for unless its rule says otherwise; texts are Python, as Snakemake expects."""
        options = self.cluster.sbatch
        given = {"slurm_account": self.cluster.account, "qos": self.cluster.qos}
        given |= {"slurm_extra": without_constraint(options), "constraint": constraint_in(options)}
        return {"mem_mb": 1000, "runtime": 10} | {name: repr(value) for name, value in given.items() if value}

    @property
    def set_resources(self) -> dict[str, dict[str, Any]]:
        """Return what jobs of single rules ask for."""
        found: dict[str, dict[str, Any]] = {}
        for rule in GPU_RULES if self.cluster.gpu_model and not self.cluster.gpu_by_partition else ():
            found.setdefault(rule, {})["gpu_model"] = repr(self.cluster.gpu_model)
        changes_of = self.cluster.rules
        for rule in dict.fromkeys([*RESUMED_RULES, *(rule for rule, its in changes_of.items() if its.sbatch)]):
            own = changes_of[rule].sbatch if rule in changes_of else None
            signal = f"--signal=TERM@{self.cluster.seconds_to_save}" if rule in RESUMED_RULES else ""
            options = [signal, without_constraint(self.cluster.sbatch), without_constraint(own)]
            found.setdefault(rule, {})["slurm_extra"] = repr(" ".join(filter(None, options)))
            if constraint := constraint_in(own):
                found[rule]["constraint"] = repr(constraint)
        for rule, changes in changes_of.items():
            its = found.setdefault(rule, {})
            if changes.mem_mb is not None:
                its["mem_mb"] = f"{changes.mem_mb} * attempt"
            if changes.runtime is not None:
                its["runtime"] = repr(changes.runtime)
            if changes.partition is not None:
                its["slurm_partition"] = repr(changes.partition)
            if changes.cpus is not None:
                its["cpus_per_task"] = changes.cpus
            if changes.gres is not None:
                its["gres"] = repr(changes.gres)
                if changes.asks_for_gpu:  # the executor takes one of the two
                    its["gpu"] = 0
                    its.pop("gpu_model", None)
        return found


def file_about_cluster() -> Path:
    """Return the file that FIVESENTENCES_CLUSTER names, or ``profiles/slurm/cluster.yaml`` in the working folder."""
    return Path(os.environ.get(VARIABLE) or FILE)


def slurm_settings(file: Path | str | None = None) -> SlurmSettings:
    """Read what a user tells about a cluster.

    Args:
        file: By default ``file_about_cluster()``.

    Raises:
        InputError: If the file is missing or wrong, or names a rule that the workflow does not have.
    """
    path = Path(file or file_about_cluster())
    if not path.is_file():
        raise InputError(
            "there is no such file, which tells your account and partitions",
            where=path,
            cure=f"run Snakemake in the root of the checkout, or name the file by {VARIABLE}",
        )
    cluster = read(Cluster, path)
    for rule in cluster.rules:
        if rule not in SUBMITTED_RULES:
            cure = did_you_mean(rule, sorted(SUBMITTED_RULES)) or "docs/cluster.md lists those that are"
            raise InputError(f"rules.{rule} is not a rule whose jobs are submitted", where=path, cure=cure)
    return SlurmSettings(cluster)
