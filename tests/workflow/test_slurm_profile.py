"""The SLURM profile and the rules of the workflow fit together, and a user's file about a cluster is checked."""

from __future__ import annotations

import logging
import math
import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from snakemake.iocontainers import ResourceList
from snakemake.profiles import ProfileConfigFileParser
from snakemake_executor_plugin_slurm.partitions import PartitionLimits, get_best_partition, read_partition_file
from snakemake_executor_plugin_slurm.utils import set_gres_string

from fivesentences.errors import InputError
from fivesentences.reproduction.config.cluster import Partition
from fivesentences.reproduction.plan.cluster import GPU_RULES, RESUMED_RULES, SUBMITTED_RULES, VARIABLE, slurm_settings

PROJECT = Path(__file__).parents[2]
PROFILE = PROJECT / "profiles" / "slurm"
# Rules that need the network, and those that take a moment: they are not submitted.
NETWORK = {"download", "fetch_network", "fetch_parser"}
LIGHT = {"divide_documents", "unpack", "average_similarities", "take_similarity", "collect_metrics", "make_table"}
LIGHT |= {"plot_figure", "show_examples"}
LIGHT |= {"collect_histories", "gather_latex", "judge_claims", "make_study_page", "make_page", "show_runs"}


@pytest.fixture(scope="module")
def rules() -> dict[str, str]:
    """The text of each rule; of one that another refines, with the other's."""
    found: dict[str, str] = {}
    for path in sorted((PROJECT / "workflow" / "rules").glob("*.smk")):
        for text in re.split(r"\n(?=(?:use )?rule )", path.read_text())[1:]:
            if refined := re.match(r"use rule (\w+) as (\w+)", text):
                found[refined[2]] = found[refined[1]] + text
            else:
                found[text.split(":")[0].removeprefix("rule ")] = text
    return found


@pytest.fixture
def write(tmp_path: Path):
    """A user's file: ``write(partitions={...}, account="lab")``."""

    def written(**content: Any) -> Path:
        path = tmp_path / "cluster.yaml"
        path.write_text(yaml.safe_dump({"partitions": {"cpu": {}, "gpu": {"max_gpu": 4}}} | content))
        return path

    return written


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch):
    """What Snakemake reads of the profile with a user's file."""

    def parsed(file: Path) -> dict[str, Any]:
        monkeypatch.setenv(VARIABLE, str(file))
        with (PROFILE / "config.yaml").open() as stream:
            return dict(ProfileConfigFileParser().parse(stream))

    return parsed


def test_every_rule_says_what_it_does_and_needs_and_leaves_retries_to_the_profile(rules) -> None:
    assert set(rules) - NETWORK - LIGHT == SUBMITTED_RULES
    for name, text in rules.items():
        for part in ("message:", "log:", "benchmark:", "mem_mb=", "runtime="):
            assert part in text, name
        assert "retries:" not in text, name  # it would apply within a job, and again outside it
    assert {name for name, text in rules.items() if "localrule: True" in text} == NETWORK | LIGHT


def test_commands_before_each_job_reach_snakemake_in_their_order(write, profile) -> None:
    assert "precommand" not in profile(write())
    told = profile(write(prologue=[". /etc/profile.d/modules.sh", "module load cuda/12.4"]))
    assert told["precommand"] == ". /etc/profile.d/modules.sh && module load cuda/12.4"


@pytest.mark.parametrize("command", ["", "export A=$B", "echo `date`", "a\nb"])
def test_commands_that_would_run_elsewhere_are_refused(write, command) -> None:
    with pytest.raises(InputError, match="prologue"):
        slurm_settings(write(prologue=[command]))


def test_rules_that_the_profile_names_exist_and_are_submitted(rules) -> None:
    assert set(RESUMED_RULES) <= set(rules) - NETWORK - LIGHT
    assert {name for name, text in rules.items() if "gpu=" in text} == set(GPU_RULES)


def test_limits_of_partitions_are_called_as_the_executor_has_them(write) -> None:
    assert set(Partition.model_fields) <= {field.name for field in fields(PartitionLimits)}
    its = slurm_settings(PROFILE / "cluster.yaml")
    known = {partition.name: partition.limits for partition in read_partition_file(Path(its.file))}
    assert known["cpu"].max_gpu == 0 and known["cpu"].max_runtime == 24 * 60 and known["gpu"].max_gpu == 1


@pytest.mark.parametrize(
    ("written", "key", "value"),
    [
        ("max_runtime: 1-00:00:00", "max_runtime", 1440),
        ("max_runtime: 24:00:00", "max_runtime", 1440),
        ("max_runtime: 30:00", "max_runtime", 30),
        ("max_runtime: 08:30:00", "max_runtime", 510),
        ("max_runtime: 2-12", "max_runtime", 3600),
        ("max_runtime: infinite", "max_runtime", math.inf),
        ("max_runtime: 90m", "max_runtime", 90),
        ("max_runtime: null", "max_runtime", math.inf),
        ("max_mem_mb: 64000+", "max_mem_mb", 64000),
        ("max_mem_mb: 64G", "max_mem_mb", 65536),
        ("max_mem_mb: null", "max_mem_mb", math.inf),
        ("max_threads: 64+", "max_threads", 64),
        ("available_gpu_models: gpu:a100-sxm4-80gb:4(S:0-1)", "available_gpu_models", ["a100-sxm4-80gb"]),
        (
            "available_gpu_models: [gpu:h100:2, v100, 'gpu:7g.40gb:1(S:0)']",
            *("available_gpu_models", ["h100", "v100", "7g.40gb"]),
        ),
        ("available_gpu_models: gpu:4", "available_gpu_models", None),
        ("available_gpu_models: (null)", "available_gpu_models", None),
    ],
)
def test_what_sinfo_prints_reaches_the_executor(tmp_path: Path, written: str, key: str, value: Any) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(f"partitions:\n  cpu*:\n    {written}\n")
    (partition,) = read_partition_file(Path(slurm_settings(path).file))
    assert partition.name == "cpu" and getattr(partition.limits, key) == value


def test_a_gpu_with_a_dash_is_chosen_by_its_partition(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    kinds = {"new": "gpu:a100-80gb:4(S:0-1)", "old": "gpu:v100:2", "any": "gpu:2"}
    partitions = {name: {"max_gpu": 2, "available_gpu_models": text} for name, text in kinds.items()}
    path.write_text(yaml.safe_dump({"gpu_model": "a100-80gb", "partitions": partitions}))
    its = slurm_settings(path)
    offered = {one.name for one in read_partition_file(Path(its.file)) if one.limits.max_gpu}
    assert offered == {"new"} and not any("gpu_model" in asked for asked in its.set_resources.values())


def test_the_profile_tells_snakemake_what_the_user_wrote(write, profile) -> None:
    plain = profile(write())
    assert plain["jobs"] == "unlimited" and "slurm-array-jobs" not in plain
    assert sorted(plain["default-resources"]) == ["mem_mb=1000", "runtime=10"]
    assert plain["set-resources"] == ["train:slurm_extra='--signal=TERM@120'"]
    told = {
        "account": "lab",
        "gpu_model": "a100",
        "sbatch": "--constraint=ib --exclude=n17",
        "seconds_to_save": 60,
        "jobs": 40,
    }
    changes = {"train": {"mem_mb": 16000, "runtime": "36h", "partition": "gpu", "cpus": 8}}
    full = profile(write(**told, rules=changes))
    assert full["jobs"] == "40"
    assert {"slurm_account='lab'", "slurm_extra='--exclude=n17'", "constraint='ib'"} <= set(full["default-resources"])
    assert {one for one in full["set-resources"] if one.startswith("train:")} == {
        "train:gpu_model='a100'",
        "train:slurm_extra='--signal=TERM@60 --exclude=n17'",
        "train:mem_mb=16000 * attempt",
        "train:runtime='36h'",
        "train:slurm_partition='gpu'",
        "train:cpus_per_task=8",
    }
    assert {one.split(":")[0] for one in full["set-resources"]} == set(GPU_RULES)


def test_a_rule_asks_for_gpus_by_gres_and_for_options_of_its_own(write, profile) -> None:
    changes = {
        "train": {"gres": "gpu:a100:1", "sbatch": "--constraint=nvlink --nice=5"},
        "extract_part": {"gres": "lscratch:50G"},
        "evaluate": {"sbatch": "--exclude=n3"},
    }
    told = profile(write(gpu_model="a100", sbatch="--constraint=ib --reservation=r1", rules=changes))["set-resources"]
    of = {rule: {one.partition(":")[2] for one in told if one.startswith(f"{rule}:")} for rule in changes}
    # The executor refuses a job that asks for GPUs by both.
    assert of["train"] == {
        "gres='gpu:a100:1'",
        "gpu=0",
        "slurm_extra='--signal=TERM@120 --reservation=r1 --nice=5'",
        "constraint='nvlink'",
    }
    assert of["extract_part"] == {"gres='lscratch:50G'", "gpu_model='a100'"}
    assert of["evaluate"] == {"slurm_extra='--reservation=r1 --exclude=n3'"}


@pytest.mark.parametrize("gres", ["gpu:1", "gpu:a100:2"])
def test_the_executor_sends_a_rule_with_gres_to_the_partition_of_gpus(write, gres: str) -> None:
    its = slurm_settings(write(rules={"train": {"gres": gres}}))
    asked = {name: yaml.safe_load(str(value)) for name, value in its.set_resources["train"].items()}
    resources = ResourceList(fromdict={"mem_mb": 8000, "runtime": 60} | asked)
    job = SimpleNamespace(name="train", threads=2, resources=resources)
    assert get_best_partition(read_partition_file(Path(its.file)), job, logging.getLogger()) == "gpu"
    assert set_gres_string(job) == f" --gres={gres}"


@pytest.mark.parametrize(
    ("offered", "expected"), [([8, 64], "64"), ([8, None], None)], ids=["the largest node", "one without a limit"]
)
def test_no_job_asks_for_more_processors_than_a_node_has(write, profile, offered, expected) -> None:
    # Parsing takes 16. SLURM keeps a job that fits no node waiting (PartitionConfig), and others behind it.
    partitions = {f"p{number}": {"max_threads": count} for number, count in enumerate(offered) if count}
    partitions |= {"other": {}} if None in offered else {}
    assert profile(write(partitions=partitions)).get("max-threads") == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"partitions": {}}, "partitions is {}"),
        ({"partitions": {"cpu": {"max_runtime": "1-"}}}, "partitions.cpu.max_runtime is '1-'"),
        ({"rules": {"train": {"runtime": "infinite"}}}, "rules.train.runtime is 'infinite'"),
        ({"partitions": {"gpu": {"max_gpu": 2}}, "gpu_model": "a100-80gb"}, "available_gpu_models: [a100-80gb]"),
        ({"partitions": {"cpu": {"max_mem": 3}}}, "Did you mean 'max_mem_mb'?"),
        ({"account": "lab; rm -rf"}, "account is 'lab; rm -rf'"),
        ({"gpu_model": "a100", "partitions": {"cpu": {}}}, "gpu_model is 'a100', but no partition with max_gpu"),
        ({"sbatch": "--exclude=`id`"}, "sbatch has the sign '`', which a shell would interpret"),
        ({"sbatch": "--signal=USR1@60"}, "sbatch has --signal=USR1@60"),
        ({"sbatch": "--exclude=n17 --mem=4G"}, "sbatch has --mem=4G"),
        ({"rules": {"train": {"gres": "gpu"}}}, "gres is 'gpu', which names no number of GPUs; write gpu:1"),
        ({"rules": {"train": {"gres": "gpu:a100"}}}, "which names no number of GPUs; write gpu:a100:1"),
        ({"rules": {"train": {"gres": "gpu:1,shm:2"}}}, "rules.train.gres is 'gpu:1,shm:2'"),
        ({"rules": {"train": {"sbatch": "--mem=4G"}}}, "rules.train.sbatch has --mem=4G"),
        ({"rules": {"train": {"sbatch": "--nice=$(id)"}}}, "rules.train.sbatch has the sign '$'"),
        ({"rules": {"trian": {}}}, "rules.trian is not a rule whose jobs are submitted; did you mean 'train'?"),
        ({"rules": {"train": {"partition": "big"}}}, "rules.train.partition is 'big', which is not among partitions"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(write, content, sentence) -> None:
    path = write(**content)
    with pytest.raises(InputError) as error:
        slurm_settings(path)
    assert sentence in str(error.value) and str(error.value).startswith(str(path))
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_file_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InputError, match=r"profiles/slurm/cluster\.yaml: there is no such file.*root of the checkout"):
        slurm_settings()
