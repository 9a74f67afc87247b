"""What a scale found: the texts with which its pages open, and where their numbers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import Formatter
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from fivesentences.config.types import ExhibitName, Name, Strict, check_each_once
from fivesentences.errors import did_you_mean

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
ValueName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


Verb = Literal["raises", "lowers", "no_gain", "no_difference", "falling"]
#: What each verb asks of the intervals.
VERBS: dict[Verb, str] = {
    "raises": "above 0",
    "lowers": "below 0",
    "no_gain": "not above 0",
    "no_difference": "0 within",
    "falling": "each below the one before",
}


class Tile(Strict):
    """A number in large type with a few words below it."""

    value: ValueName
    """Its number; what follows it in brackets is its 95% interval."""
    text: Text
    bad: bool = False
    """Whether it is the bad news."""


class Finding(Strict):
    """What the numbers of a scale show. A text contains numbers by name: `{gain}`."""

    scale: Name | None = None
    """Of a study: the scale whose numbers it is about; elsewhere nothing is stated."""
    kicker: Text
    """Data, model and seeds, above the headline."""
    headline: Text
    lead: Text
    tiles: list[Tile] = Field(min_length=1, max_length=3)
    figure: ExhibitName | None = None
    """The figure below the tiles, as `study/figure`; null: none."""
    not_shown: list[Text] = Field(min_length=1)
    """What the numbers do not show."""
    studies: dict[Name, Text] = Field(default={})
    """The result of a study in a sentence, on its page; that of the figure's study is the headline by default."""
    rests_on: dict[Verb, list[ValueName]] = Field(default={})
    """What its headline says of which values; drawing stops where an interval does not carry it, see ``VERBS``."""
    values: dict[ExhibitName, dict[ValueName, dict[Name, str | float]]]
    """Numbers by `study/table` and name: columns of the one line of its CSV, and how to `show` it."""

    @property
    def shown(self) -> set[str]:
        """Tables and figures that it reads or shows."""
        return {*self.values, *([self.figure] if self.figure else [])}

    def result_of(self, study: str) -> str:
        """Return the text about a study; empty if there is none."""
        return self.studies.get(study, self.headline if study == self._study_of_figure else "")

    @property
    def _study_of_figure(self) -> str:
        return (self.figure or "").partition("/")[0]

    def tables_of(self, texts: Iterable[str]) -> set[str]:
        """Return the tables from which the numbers of some texts are read."""
        named = {name for text in texts for name in names_in(text)}
        return {table for table, values in self.values.items() if named & set(values)}

    def table_of(self, name: str) -> str:
        """Return the table that a value is read from."""
        return next(table for table, values in self.values.items() if name in values)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield every text with its key."""
        yield from (("kicker", self.kicker), ("headline", self.headline), ("lead", self.lead))
        yield from ((f"tiles[{number}].text", tile.text) for number, tile in enumerate(self.tiles))
        yield from ((f"not_shown[{number}]", text) for number, text in enumerate(self.not_shown))
        yield from ((f"studies.{study}", text) for study, text in self.studies.items())

    @model_validator(mode="after")
    def _names_are_known(self) -> Finding:
        table_of = {name: table for table, names in self.values.items() for name in names}
        if len(table_of) < sum(map(len, self.values.values())):
            raise ValueError("finding.values has a name in two tables; rename one")
        named = [(key, name) for key, text in self.texts() for name in names_in(text)]
        named += [(f"tiles[{number}].value", tile.value) for number, tile in enumerate(self.tiles)]
        for verb, rows in self.rests_on.items():
            check_each_once(f"finding.rests_on.{verb}", rows)
        named += [(f"rests_on.{verb}", name) for verb, names in self.rests_on.items() for name in names]
        for key, name in named:
            if name not in table_of:
                hint = did_you_mean(name, table_of) or f"there are: {', '.join(table_of) or 'none'}"
                raise ValueError(f"finding.{key} names '{name}', which is not in finding.values; {hint}")
        if idle := sorted(set(table_of) - {name for _, name in named}):
            raise ValueError(f"finding.values has '{idle[0]}', but no text shows it; remove it")
        for table, names in self.values.items():
            for name, asked in names.items():
                if not isinstance(asked.get("show"), str):
                    raise ValueError(f"finding.values.{table}.{name} has no show; add one, such as '{{value:.1f}}'")
        for study in {*self.studies, self._study_of_figure}:
            for name in names_in(self.result_of(study)):
                if not table_of[name].startswith(f"{study}/"):  # its page is made of the study's own tables
                    what = f"finding: the text about {study} names '{name}' of {table_of[name]}"
                    raise ValueError(f"{what}; take a number of {study}")
        if not any(tile.bad for tile in self.tiles):
            raise ValueError("finding.tiles has no bad news; mark the tile with what speaks against it by bad: true")
        return self


def names_in(text: str) -> list[str]:
    """Return the names in braces.

    Raises:
        ValueError: If a brace is not closed.
    """
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
