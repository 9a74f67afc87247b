"""What a scale inherits from the scale that it extends, as far as its own studies know it.

The other scale names rows of its studies; a scale with other studies would have to edit every such list. What the file
of the scale itself states stays: a name there that no study has is a mistake, of which ``check_scale`` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from fivesentences.config.reading import check
from fivesentences.config.scales import Scale
from fivesentences.config.types import as_list
from fivesentences.study.checks import Names, names_of
from fivesentences.study.study import Study

Settings = Mapping[str, Any]
Known = Callable[[Any], Any]  # what the studies know of an entry, perhaps less than all; None: nothing


def inheriting(merged: Settings, own: Settings, studies: Mapping[str, Study], where: str) -> Scale:
    """A scale without inherited entries that name nothing in its studies.

    Args:
        merged: Its settings, valid, with all that it inherits.
        own: What its own file states.
        studies: Those that it names.
        where: The name of its file, for an error.
    """
    names = names_of(studies)
    found = check(Scale, _known_settings(merged, own, names), where)
    if found.keep and not {"keep", "keep+"} & set(own) and not any(found.keeps(*cell.names) for cell in names.cells):
        return found.model_copy(update={"keep": None})
    return found


def _known_settings(merged: Settings, own: Settings, names: Names) -> dict[str, Any]:
    cell = {"model": _among(names.models), "loss": names.known_losses, "fraction": _among(names.fractions)}
    found = _fitting(
        merged,
        own,
        {
            "only": _among(names.exhibits),
            "roles": _among(names.roles),
            "further_features": _among(names.features),
            "other_seeds": _some(cell),
            "keep": _some(cell | {"model": _among(names.models | names.ensembles)}),
        },
    )
    blocks: dict[str, dict[str, Known]] = {
        "leave_out": {"losses": _among(names.losses), "fractions": cell["fraction"]},
        "training": {"exceptions": _some(cell | {"study": _among(names.studies)})},
    }
    for block, entries in blocks.items():
        if block in found:
            found[block] = _fitting(found[block], own.get(block) or {}, entries)
    if names.category_roles and "categories" in found:
        found["categories"] = _categories(found["categories"], own.get("categories") or {}, names)
    return found


def _categories(merged: Settings, own: Settings, names: Names) -> dict[str, Any]:
    methods, divisions = names.known_methods, _among(names.divisions)
    seeds = _some({"method": methods, "division": divisions})
    entries = {"roles": _among(names.category_roles), "methods": methods, "other_seeds": seeds}
    found, own_documents = _fitting(merged, own, entries), own.get("documents") or {}
    for name, documents in merged["documents"].items():
        divided = _fitting(documents, own_documents.get(name) or {}, {"divisions": divisions})
        if divided["divisions"]:
            found["documents"] = found["documents"] | {name: divided}
        else:  # no row divides them as the other scale does
            stated = own.get("roles") or {}
            found["roles"] = {role: of for role, of in found["roles"].items() if of != name or role in stated}
    return found


def _fitting(merged: Settings, own: Settings, entries: Mapping[str, Known]) -> dict[str, Any]:
    """Settings whose inherited entries are those that are known; a list of which none is left is left out."""
    found = dict(merged)
    for key, known in entries.items():
        given = merged.get(key)
        if isinstance(given, dict):
            stated = own.get(key) or {}
            found[key] = {name: value for name, value in given.items() if name in stated or known(name) is not None}
        elif isinstance(given, list):
            count = (
                0 if key in own else len(given) - len(own.get(f"{key}+") or ())
            )  # `key+` adds its entries at the end
            inherited = [part for entry in given[:count] if (part := known(entry)) is not None]
            found[key] = [*inherited, *given[count:]]
            if not found[key]:
                del found[key]
    return found


def _among(names: Collection[Any]) -> Known:
    return lambda name: name if name in names else None


def _some(known: Mapping[str, Known]) -> Known:
    """The part of a block that picks rows by names; a key that is missing picks all of them."""

    def part(block: Settings) -> Settings | None:
        changed = {}
        for key, of_key in known.items():
            if block.get(key) is not None:
                changed[key] = [name for name in as_list(block[key]) if of_key(name) is not None]
                if not changed[key]:
                    return None
        return {**block, **changed}

    return part
