"""What the hosts of the catalogue answer when they are asked for a file's header: reached, moved, size, version."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import requests
import yaml
from pydantic import Field

from fivesentences.config.datasets import Catalogue, CatalogueFile
from fivesentences.config.reading import read
from fivesentences.config.types import Sha256, Strict
from fivesentences.corpus.catalogue import HOST, recorded
from fivesentences.corpus.download import ask, reason_of_no_answer, total_of
from fivesentences.errors import InputError
from fivesentences.storage import inside, replacing

FILE = "tried.yaml"  # beside the catalogue
_HEAD = "# What hosts answered to `fivesentences download --probe`, by address; commit it, so that others see it.\n"
_NO_HEAD = (403, 404, 405, 501)  # of hosts that answer GET alone


class Tried(Strict):
    """What a host answered about one address."""

    on: date
    answer: str
    """Status and reason, or why there is none."""
    reached: bool
    moved_to: str | None = None
    """Where the host sends on to."""
    size: int | None = None
    """Bytes of the file, as the host states it."""
    etag: str | None = None
    modified: str | None = None
    """Last-Modified."""
    sha256: Sha256 | None = None
    """Of the copy that is here, if it was fetched from its host."""


class Addresses(Strict):
    """``tried.yaml``."""

    addresses: dict[str, Tried] = Field(default={})


def read_tried(catalogue: Path) -> dict[str, Tried]:
    """Return what was answered before, by address; nothing if nobody has asked.

    Raises:
        InputError: If the file is damaged.
    """
    path = catalogue.with_name(FILE)
    return read(Addresses, path).addresses if path.exists() else {}


def write_tried(catalogue: Path, tried: dict[str, Tried]) -> Path:
    """Write what was answered beside the catalogue; what others were told of other addresses stays."""
    path, every = catalogue.with_name(FILE), read_tried(catalogue) | tried
    content = {"addresses": {url: every[url].model_dump(mode="json", exclude_none=True) for url in sorted(every)}}
    with replacing(path) as temporary:
        temporary.write_text(_HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))
    return path


def addresses_of(catalogue: Catalogue, datasets: list[str]) -> Iterator[tuple[str, CatalogueFile | None]]:
    """Yield every address of these datasets once, with its file; those of terms have none."""
    seen = set[str]()
    for dataset in datasets:
        for file in catalogue.datasets[dataset].files.values():
            terms = [] if file.consent is None else [file.consent.terms]
            for url in (*([] if file.url is None else [file.url]), *file.more_urls, *terms):
                if url not in seen:
                    seen.add(url)
                    yield url, None if url in terms else file


def probe(url: str, file: CatalogueFile | None, data: Path) -> Tried:
    """Ask a host for a file's header, or its first byte; nothing else is fetched.

    Args:
        url: One of the file's addresses, or that of its terms.
        file: The file; None of terms.
        data: The folder of downloads.
    """
    today = datetime.now(UTC).date()
    token = file.token if file is not None and url == file.url else None
    try:
        with ask("HEAD", url, token=token) as response:
            answer = response
        if answer.status_code in _NO_HEAD:
            with ask("GET", url, {"Range": "bytes=0-0"}, token) as response:
                answer = response
    except requests.RequestException as error:
        return Tried(on=today, answer=reason_of_no_answer(error), reached=False)
    if answer.status_code >= 400:
        return Tried(on=today, answer=f"{answer.status_code} {answer.reason}", reached=False)
    headers = answer.headers
    return Tried(
        on=today,
        answer=f"{answer.status_code} {answer.reason}",
        reached=True,
        moved_to=answer.url if answer.url != url else None,
        size=total_of(answer) if file is not None else None,
        etag=headers.get("ETag"),
        modified=headers.get("Last-Modified"),
        sha256=_sha256(file, data),
    )


def _sha256(file: CatalogueFile | None, data: Path) -> str | None:
    if file is None or not (here := inside(data, file.path)).exists():
        return None
    try:
        record = recorded(here)
    except InputError:
        return None
    return record[0] if record is not None and record[1] == HOST else None


def difference(file: CatalogueFile | None, tried: Tried) -> str:
    """Say where an answer is not what the catalogue says; empty if it is."""
    if not tried.reached or file is None:
        return ""
    said = [] if file.size is None or tried.size in (None, file.size) else [f"the catalogue says {file.size:,} bytes"]
    said += [] if None in (file.sha256, tried.sha256) or file.sha256 == tried.sha256 else ["the SHA-256 differs"]
    return "; ".join(said)
