"""What each build writes: pages of commands, options, metrics, licences and results, long tables, JSON schemas.

The pages are in ``docs/reference`` (not in git). A tracked document has a mark, ``<!-- table NAME -->``, and
a sentence until ``<!-- / -->``; Sphinx reads a long table in their place. The schemas are in ``schemas`` of the built
site, where an editor finds them (config/README.md describes how).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticUndefined

from fivesentences.cli import command_line
from fivesentences.commands.published import sheets_of
from fivesentences.config.datasets import Catalogue
from fivesentences.config.files import CATALOGUE, project_folder
from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.config.metrics import metrics_table
from fivesentences.documents import read_yaml
from fivesentences.evaluation.comparable import comparables
from fivesentences.losses import LossSpec, TripletLoss
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.metrics.markdown import escape_markdown, piped
from fivesentences.metrics.sheet import markdown
from fivesentences.models import MODELS, ModelSpec
from fivesentences.reproduction.categories.config import (
    AnyDocuments,
    CategoryScale,
    DivisionSpec,
    OtherCategorySeeds,
    SubspaceTraining,
)
from fivesentences.reproduction.categories.models.specs import AnyMethod
from fivesentences.reproduction.config.cluster import Cluster
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.study.claims import Claims
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import RunFile, RunSpec

FILES: dict[str, Any] = {
    "scale": Scale,
    "study": Study,
    "claims": Claims,
    "datasets": Catalogue,
    "run": RunFile | RunSpec,
    "cluster": Cluster,
}
PLACE = re.compile(r"<!-- table (\w+) -->.*?<!-- / -->", re.DOTALL)
OPTION = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*)")  # two dashes would become one long one
PLACE_OF_VALUE = re.compile(r"<!--.*?-->")  # marks of docs/tools/values in a headline
METRICS = """\
# Metrics

What `fivesentences evaluate`, the function `evaluate` and an `Evaluator` report. `k` is a cut-off; `<list>` is the name
of a list of positives, such as CxC. Variants (formula, ground truth, m, weights, tie rule) are options of `evaluate`.
Equal scores are ordered by index, lower first.

"""
LICENCES = """\
# Licences of data

What `config/datasets.yaml` says of every file that a scale can ask for. None of these files is in this repository.

| data | file | licence |
| --- | --- | --- |
"""
COMMANDS = """\
# Command line

`fivesentences --help` prints this list, `fivesentences COMMAND --help` the options of a command.

| command | |
| --- | --- |
"""
RESULTS = """\
# Results

The pages of every experiment with tracked results. `uv run fivesentences report config/NAME.yaml` redraws
their tables and figures without training.

| experiment | configuration |
| --- | --- |
"""
OPTIONS = """\
# Options of models, losses and training

What a study may say of models and losses, and a scale of training.
"""
MODEL_WORDS = """\
A row of a study names a model, or a variant of one: `models: {scan_i2t: {name: scan, direction: i2t}}`. Options that a
variant states show in the name of its runs (`scan,direction=i2t`). Widths are set by a scale, as in
`training: {widths: {embedding: 256}}`, and do not show. In Python,
`build_model("scan", image_dim=2048, vocabulary_size=8000, direction="i2t", embedding=256)` takes both."""
LOSS_WORDS = """\
A loss of a study is a sum: `{triplet: hardest, margin: 0.2, sam: {temperature: 10, negatives: random}}`. Tables call it
by its settings, unless the study has a label for it."""
TRAINING_WORDS = """\
A scale gives these under `training`, and other values for some models, losses or fractions under
`training.exceptions` (all but `threads`). A run's `run.yaml` holds them under `run.training`."""
CATEGORY_WORDS = """\
A study names methods, `methods: {sam: {method: triplets, loss: {toward: adaptive}}}`, and its rows use these names. A
scale has a block `categories`: which documents there are, how they are divided, which roles they play, and how networks
are trained."""


def options_page() -> str:
    """Every model, loss, method and loader with its options, their defaults and values."""
    terms = LossSpec.optional_terms()
    parts = [OPTIONS, f"## Models\n\n{MODEL_WORDS}\n"]
    parts += [_block(name, kind) for name, kind in MODELS.items()]
    parts += [f"## Losses\n\n{LOSS_WORDS}\n"]
    parts += [_block("triplet", LossSpec, [one for one in LossSpec.model_fields if one not in terms], TripletLoss)]
    parts += [_block(name, kind) for name, kind in terms.items()]
    parts += [f"## Training\n\n{TRAINING_WORDS}\n", _table(Hyperparameters)]
    parts += [f"## Category retrieval\n\n{CATEGORY_WORDS}\n"]
    parts += [_block(name, kind) for name, kind in _members(AnyMethod, "method")]
    parts += [_block("loss of triplets", ScheduledMarginSpec), _block("categories", CategoryScale)]
    parts += [_block("categories: other_seeds", OtherCategorySeeds), _block("categories: training", SubspaceTraining)]
    parts += [_block("divisions", DivisionSpec)]
    parts += [_block(f"loader: {name}", kind) for name, kind in _members(AnyDocuments, "loader")]
    return "\n".join(parts)


def licences_page() -> str:
    """Every file of the catalogue with its licence."""
    return LICENCES + "".join(
        f"| {entry.title} | `{file.path}` | {file.licence} |\n"
        for entry in _catalogue().datasets.values()
        for file in entry.files.values()
    )


def command_pages() -> dict[str, str]:
    """A page for each command and one that lists them, by file name."""
    pages, rows = {}, []
    for name, command in command_line().commands.items():
        group = getattr(command, "commands", None)
        for words, one in (
            {f"{name} {word}": one for word, one in group.items()}.items() if group else [(name, command)]
        ):
            file = f"command_{words.replace(' ', '_')}"
            pages[file] = _command_page(words, one)
            rows.append(f"| [`{words}`]({file}.md) | {escape_markdown((one.help or '').partition(chr(10))[0])} |\n")
    return pages | {"command_line": COMMANDS + "".join(rows)}


def _command_page(words: str, command: Any) -> str:
    """Summary, examples, details, and a table for the arguments and for each panel of options."""
    summary, *paragraphs = (command.help or "").split("\n\n")
    examples = [one.strip() for one in paragraphs if one.startswith("    ")]
    details = [
        " ".join(one.split()) for one in paragraphs if not one.startswith("    ") and one.strip(": ") != "Examples"
    ]
    details = [one for one in details if one not in ("Example:", "Examples:")]
    parts = [f"# {words}", escape_markdown(" ".join(summary.split()))]
    if examples:
        parts += ["## Examples", "```bash\n" + "\n".join(examples) + "\n```"]
    if details:
        parts += ["## Details", *(OPTION.sub(r"`\1`", escape_markdown(one)) for one in details)]
    shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
    for panel, group in groupby(sorted(shown, key=_panel), key=_panel):
        rows = [piped([_called(one), _meaning(one)]) for one in group]
        parts += [f"## {panel[1]}", "\n".join([piped(["name", "meaning"]), piped(["---", "---"]), *rows])]
    return "\n\n".join(parts) + "\n"


def _panel(parameter: Any) -> tuple[int, str]:
    argument = not parameter.opts[0].startswith("-")
    return (
        (0, "Arguments")
        if argument
        else (1, "Options")
        if not parameter.rich_help_panel
        else (2, parameter.rich_help_panel)
    )


def _called(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
    value = value.replace("|", r"\|")  # which ends a cell, in code too
    return ", ".join(f"`{name}{value}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _meaning(parameter: Any) -> str:
    text = OPTION.sub(r"`\1`", escape_markdown(" ".join((parameter.help or "").split())))
    default = parameter.default
    if default is not None and default != () and not getattr(parameter, "is_flag", False) and not callable(default):
        text += f" Default: `{getattr(default, 'value', default)}`."
    return text + (" Required." if parameter.required and parameter.opts[0].startswith("-") else "")


def results_page(root: Path) -> str:
    """A link to the front page of every experiment with tracked results, and its finding if it has one."""
    front = root / "results/paper/index.html"
    link = "| [**All findings**, a card each, and twelve queries](../../results/paper/index.html) | |\n"
    lines = [link] if front.exists() else []
    for page in (root / "docs" / "demo" / "index.html", *sorted(root.glob("results/paper/*/index.html"))):
        config = root / "config" / f"{page.parent.name}.yaml"
        if config.exists() and page.exists():
            content = read_yaml(config)
            headline = (content.get("finding") or {}).get("headline")
            text = f"**{content['title']}**" + (f"<br>{PLACE_OF_VALUE.sub('', headline)}" if headline else "")
            link = f"[{text}](../../{page.relative_to(root).as_posix()})"
            lines.append(f"| {link} | [`{config.name}`](../../config/{config.name}) |\n")
    claims = root / "results/paper/claims/index.html"
    link = "| [**Claims of the papers**, tested in all experiments](../../results/paper/claims/index.html) | |\n"
    return RESULTS + "".join(lines) + (link if claims.exists() else "")


def published_tables() -> str:
    """Recall and NCS of every published row that ``evaluate --beside`` reads."""
    return "\n".join(map(markdown, sheets_of(comparables())))


# The long tables of documents, by the name in their mark.
TABLES: dict[str, Callable[[], str]] = {"published": published_tables}


def with_tables(text: str) -> str:
    """A document whose marks are replaced by their tables."""
    return PLACE.sub(lambda place: TABLES[place[1]](), text)


def _catalogue() -> Catalogue:
    return Catalogue.model_validate(read_yaml(project_folder() / CATALOGUE))


EXTENDING = ("scale", "study")


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of a kind of file; one that extends another may leave out what it takes from that."""
    schema: dict[str, Any] = TypeAdapter(FILES[name]).json_schema()
    if name == "scale":
        training = schema["$defs"]["TrainingScale"]["properties"]
        training["exceptions+"] = training["exceptions"]
        null = {"type": "null"}  # removes a key of the scale that this one extends
        of_names = [one["patternProperties"] for one in schema["properties"].values() if "patternProperties" in one]
        for properties in (training, *of_names, schema["properties"]):
            properties.update({name: {"anyOf": [one, null]} for name, one in properties.items()})
    if name in EXTENDING:
        schema["properties"]["extends"] = {"type": "string", "description": f"a {name} that this one extends"}
        schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["extends"]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write_pages(folder: Path) -> None:
    """Write every page, and remove those of commands that are gone."""
    commands = command_pages()
    for path in folder.glob("command_*.*"):
        if path.name not in {f"{name}.md" for name in commands}:
            path.unlink()
    for name, text in commands.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "options.md").write_text(options_page(), encoding="utf-8")
    (folder / "metrics.md").write_text(METRICS + metrics_table(), encoding="utf-8")
    (folder / "licences.md").write_text(licences_page(), encoding="utf-8")
    (folder / "results.md").write_text(results_page(folder.parents[1]), encoding="utf-8")


def write_schemas(folder: Path) -> None:
    """Write every schema, ``scale.json`` and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / f"{name}.json").write_text(json.dumps(schema_of(name), indent=1), encoding="utf-8")


def _members(union: Any, key: str) -> Iterator[tuple[str, type[BaseModel]]]:
    for kind in get_args(get_args(union)[0]):
        yield get_args(kind.model_fields[key].annotation)[0], kind


def _block(
    name: str, kind: type[BaseModel], fields: Iterable[str] | None = None, described: type[BaseModel] | None = None
) -> str:
    sentence = " ".join(((described or kind).__doc__ or "").split("\n\n")[0].split()).replace("``", "`")
    return f"### `{name}`\n\n{sentence}\n\n{_table(kind, fields)}"


def _table(kind: type[BaseModel], fields: Iterable[str] | None = None) -> str:
    schemas = kind.model_json_schema()["properties"]
    widths = kind.widths() if issubclass(kind, ModelSpec) else ()
    lines = ["| option | default | values | meaning |", "| --- | --- | --- | --- |"]
    for name in fields or kind.model_fields:
        if "const" in schemas[name]:  # its own name
            continue
        field = kind.model_fields[name]
        meaning = ("width: " if name in widths else "") + " ".join((field.description or "").split())
        cells = (value_in_words(field.default), values_in_words(schemas[name]), meaning)
        lines.append(f"| `{name}` | {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def value_in_words(value: Any) -> str:
    """A default or a choice, as YAML writes it."""
    if value is PydanticUndefined:
        return "needed"
    if isinstance(value, list):
        return ", ".join(map(value_in_words, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def values_in_words(schema: dict[str, Any]) -> str:
    """What a field may be, from its JSON schema."""
    if "anyOf" in schema:
        values = [values_in_words(one) for one in schema["anyOf"]]
        # What a list has may also stand alone, which "one or more" says.
        return " or ".join(one for one in values if f"one or more: {one}" not in values)
    if "enum" in schema or "const" in schema:
        return ", ".join(value_in_words(value) for value in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", "block"))
    if kind == "array":
        few, one = schema.get("minItems"), values_in_words(schema.get("items", {}))
        return f"{few} {one}s" if few is not None and few == schema.get("maxItems") else f"one or more: {one}"
    if kind in ("integer", "number"):
        bounds = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
        limits = [f"{word} {schema[key]:,}".removesuffix(".0") for key, word in bounds.items() if key in schema]
        limits += [f"in steps of {schema['multipleOf']}"] if "multipleOf" in schema else []
        return " ".join([{"integer": "whole number", "number": "number"}[kind], *limits])
    if kind == "string" and "reattached" in schema.get("pattern", ""):
        return "name of a phi"
    words = {"string": "name", "boolean": "true, false", "object": "names by name", "null": "null"}
    return "path" if schema.get("format") == "path" else words.get(kind, kind)
