"""Published rows that are set beside a model's numbers, by names such as ``five-sentences:flickr30k``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, RootModel

from fivesentences.config.files import config_file
from fivesentences.config.metrics import SUMS, metric_of
from fivesentences.config.reading import read
from fivesentences.config.types import Strict, as_list
from fivesentences.errors import InputError, did_you_mean
from fivesentences.evaluation.protocols import PROTOCOLS, Protocol
from fivesentences.evaluation.published import SETTINGS, PublishedRow, read_published, with_details
from fivesentences.metrics.values import KEYS, key_of

FILE = "published/comparable.yaml"
WITHOUT_OWN = "_nonGT"  # how the transcribed tables name a metric without the query's own items
METRICS = ("R@k", "Med r", "Mean r", "Rsum", "N@k", "Nsum")
ROUNDING = 0.35  # how far the sum of six numbers with one decimal may be from a sum that was rounded once
# Settings that tell rows of these tables apart, beside those that a study's tables show.
WORDS = SETTINGS | {
    "train_fraction": lambda value: None if value == "100%" else f"{value} of the training images",
    "train_caption_fraction": lambda value: None if value == "100%" else f"{value} of the captions",
    "inference": lambda value: None if value == "naive" else value,
    "k": "k = {}".format,
}


@dataclass(frozen=True)
class ComparableRow:
    """One published row.

    Attributes:
        label: The model, with what tells it apart.
        source: Paper and table.
        values: Numbers by the keys of ``MetricValue``.
    """

    label: str
    source: str
    values: Mapping[tuple[object, ...], float]


class Comparable(Strict):
    """Rows of published tables of one dataset under one protocol."""

    paper: str
    """The paper, in short."""
    tables: dict[str, str]
    """Files of the tables, without .csv, by their numbers in the paper."""
    dataset: str
    """The dataset, as the files name it."""
    split: Annotated[list[str], BeforeValidator(as_list)]
    """The split, as the files name it."""
    protocol: str
    """The protocol, as ``evaluate --dataset`` names it."""
    phi: str = ""
    """The phi of NCS."""
    notes: tuple[str, ...] = ()
    """What else a reader must know before comparing."""

    @property
    def scored(self) -> Protocol:
        """The protocol."""
        return PROTOCOLS[self.protocol]

    def rows(self) -> list[ComparableRow]:
        """Return the rows that have a number of ``METRICS``."""
        rows = [
            ComparableRow(_label(row), f"{self.paper}, {table}", dict(self._values(row)))
            for table, row in self._published()
        ]
        return [row for row in rows if row.values]

    def _published(self) -> Iterator[tuple[str, PublishedRow]]:
        for number, file in self.tables.items():
            for row in read_published(config_file(f"published/{file}.csv", Path("config"))).values():
                if row.dataset == self.dataset and row.split in self.split:
                    yield number, row

    def _values(self, row: PublishedRow) -> Iterator[tuple[tuple[object, ...], float]]:
        for (direction, printed), value in row.values.items():
            metric = printed.removesuffix(WITHOUT_OWN)
            if value is None or metric.partition("@")[0] not in {name.partition("@")[0] for name in METRICS}:
                continue
            own = "removed" if printed.endswith(WITHOUT_OWN) else "kept"
            of_phi = {"formula": "released", "ground_truth": own, "phi": self.phi}
            key = key_of(metric, direction, **(of_phi if metric_of(metric).needs_phi else {}))
            yield tuple(key[name] for name in KEYS), value  # type: ignore[literal-required]

    def _misprinted(self) -> list[tuple[str, str]]:
        """Return the name of each printed sum that its printed terms do not add up to, and a sentence on it."""
        found = []
        for table, row in self._published():
            for name, family in SUMS.items():
                terms = [
                    value
                    for (_, metric), value in row.values.items()
                    if metric.startswith(family.removesuffix("k")) and value is not None
                ]
                printed = row.values.get(("", name))
                if printed is not None and len(terms) == 6 and abs(printed - sum(terms)) > ROUNDING:
                    what = f"{name} is printed as {printed}, but its six numbers add up to {sum(terms):.1f}."
                    found.append((name, f"{self.paper}, {table}, {_label(row)}: {what}"))
        return found

    def check(self, name: str, protocol: Protocol | None, images: int, captions: float) -> None:
        """Refuse to set these rows beside numbers of another dataset or of galleries of another size.

        Args:
            name: What these rows are called.
            protocol: The protocol of the numbers; None if all images and captions are one gallery.
            images: Images of a gallery.
            captions: Captions of a gallery.

        Raises:
            InputError: If they do not compare.
        """
        wanted = self.scored
        size = wanted.gallery, wanted.gallery * wanted.captions // wanted.images
        if protocol is not None and protocol.dataset != wanted.dataset:
            what = f"{name} is of {wanted.words}, but --dataset is {protocol.name}"
            raise InputError(what, where="--beside", cure=_others(protocol))
        if (images, captions) != size:
            cure = f"score them with --dataset {self.protocol}" if wanted.accepts(images, int(captions)) else None
            raise InputError(
                f"{name} is of galleries of {size[0]:,} images and {size[1]:,} captions ({wanted.name}), but these "
                f"have {images:,} and {captions:,}",
                where="--beside",
                cure=_others(protocol) if protocol else cure or "leave --beside out",
            )

    def differences(self, protocol: Protocol | None, shown: Collection[str] | None = None) -> list[str]:
        """Return sentences on how these numbers came about, and in what they differ from those of a protocol.

        Args:
            protocol: The protocol.
            shown: Names of the metrics in the table, such as ``NCS@k``; sentences on others are left out. None: all.
        """
        words = f"{self.paper}: {self.scored.words}"
        here = "" if protocol in (None, self.scored) else f"; here: {protocol.words}"  # type: ignore[union-attr]
        families = {name.partition("@")[0] for name in (("NCS", *SUMS) if shown is None else shown)}
        every = [*self.notes, *(sentence for name, sentence in self._misprinted() if name in families)]
        return [f"{words}{here}.", *(one for one in every if not one.startswith("NCS ") or "NCS" in families)]


class _Comparables(RootModel[dict[str, Comparable]]):
    """The file ``comparable.yaml``."""


def comparables() -> dict[str, Comparable]:
    """Read all published rows that can be set beside a model's, by name."""
    return read(_Comparables, config_file(FILE, Path("config"))).root


def comparable_named(name: str) -> Comparable:
    """Return published rows by their name.

    Raises:
        InputError: If there are none of this name; it lists the names.
    """
    known = comparables()
    if name not in known:
        question = did_you_mean(name, known)
        what = f"there are no published rows '{name}'; there are: {', '.join(known)}"
        raise InputError(what if question else f"{what}.", cure=question)
    return known[name]


def _others(protocol: Protocol) -> str:
    fitting = [name for name, one in comparables().items() if one.protocol == protocol.name]
    return f"rows of {protocol.name}: {', '.join(fitting)}" if fitting else "leave --beside out"


def _label(row: PublishedRow) -> str:
    return with_details(row.method, *(say(row.setting[key]) for key, say in WORDS.items() if key in row.setting))
