"""The numbers of a model as the metadata of a model card (model-index), as Hugging Face's hub shows it."""

from __future__ import annotations

import math
from pathlib import Path

from fivesentences.errors import need
from fivesentences.evaluation.protocols import protocol_named
from fivesentences.metrics import Evaluation
from fivesentences.metrics.values import KEYS
from fivesentences.storage import replacing


def write_model_card(result: Evaluation, model: str, path: Path | str) -> None:
    """Write the beginning of a model card: a YAML header with every number, in the units of ``result``.

    It names the data set as its protocol does, and neither a revision nor a split, which an evaluation does not know.

    Args:
        result: Numbers under the protocol of a benchmark.
        model: Name of the model.
        path: The file, such as README.md.

    Raises:
        InputError: If huggingface_hub is not installed (extra ``encoders``), the protocol is not one of a benchmark, or
            the file cannot be written.
    """
    need("huggingface_hub", "encoders", "a model card")
    from huggingface_hub import EvalResult, ModelCardData  # takes a second

    protocol = protocol_named(result.about["protocol"])
    results = [
        EvalResult(
            task_type="image-text-retrieval",
            dataset_type=protocol.dataset,
            dataset_name=f"{protocol.name}: {protocol.words}",
            metric_type=value["metric"],
            metric_name=" ".join(str(value[key]) for key in KEYS if value[key]),  # type: ignore[literal-required]
            metric_value=round(value["value"], 4),
            metric_args={"inference": result.about["inference"]} if "inference" in result.about else None,
        )
        for value in result.values
        if math.isfinite(value["value"])
    ]
    with replacing(path) as temporary:
        text = ModelCardData(model_name=model, eval_results=results).to_yaml()
        temporary.write_text(f"---\n{text}\n---\n", encoding="utf-8")
