"""`fivesentences download`: files from the network, checked and kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.choices import CATALOGUE_NAMES, datasets_called, each_once
from fivesentences.commands.arguments import Downloads, Quiet
from fivesentences.config.consents import FILE as CONSENTS
from fivesentences.config.consents import is_agreed, write_consent
from fivesentences.config.datasets import Catalogue, CatalogueEntry, CatalogueFile
from fivesentences.config.files import CATALOGUE, config_file
from fivesentences.config.pointers import pointers_of, record_pointer, remove_other_pointers, write_pointers
from fivesentences.config.reading import read
from fivesentences.corpus.catalogue import at_hand
from fivesentences.corpus.download import fetch, find_mirror
from fivesentences.corpus.probing import FILE as TRIED
from fivesentences.corpus.probing import Tried, addresses_of, difference, read_tried, write_tried
from fivesentences.corpus.probing import probe as probe_address
from fivesentences.errors import InputError, InputErrors, did_you_mean
from fivesentences.metrics.markdown import piped


def catalogue_of(downloads: Downloads) -> Path:
    """Return the list of downloads: the given one, or that of the current folder, or else the project's own."""
    return downloads.catalogue or config_file(CATALOGUE, Path("config"))


def download(
    dataset: str | None = None,
    *,
    files: Annotated[list[str] | None, typer.Option("--file", metavar="NAME")] = None,
    consent: str | None = None,
    downloads: Downloads,
    addresses: bool = False,
    probe: bool = False,
    pointers: bool = False,
    quiet: Quiet = False,
) -> None:
    """Fetch the files of a dataset; they are checked, and a stopped download is resumed.

    Photographs are large (COCO's 20 GB); --file captions leaves them out. All
    that can be fetched is; what failed is listed at the end, with what to do.

    --consent shows the terms that the owners of a dataset ask for, and asks
    whether you agree; data/consents.yaml then says so, and nobody asks again.

    --pointers writes DVC's pointers, for git: address, version, size and MD5 of files
    whose MD5 is known or that are here. A fetched file gets its own by itself. Run it
    after a change of the catalogue; pointers of files that it has no more are removed.

    Args:
        dataset: A dataset of the catalogue, such as flickr8k.
        files: One file alone, such as captions; repeat for more; default: all.
        consent: Fetch nothing; agree to the terms of this name, such as flickr30k.
        addresses: Fetch nothing; print every file's addresses and what is known of it, as a table in Markdown.
        probe: Fetch nothing; ask the hosts of the dataset, or of all, for size and version of each file, and write
            what they answer to tried.yaml beside the catalogue, for git and for --addresses.
        pointers: Fetch nothing; write data/PATH.dvc for files whose MD5 is known.
        quiet: No progress bar, and no names of files.

    Examples:

        fivesentences download flickr8k

        fivesentences download coco --file captions

        fivesentences download --consent flickr30k

        fivesentences download --addresses

        fivesentences download --probe

        fivesentences download --pointers
    """
    mirror, path = find_mirror(downloads.mirror), catalogue_of(downloads)
    catalogue = read(Catalogue, path)
    if pointers:
        texts = pointers_of(catalogue, downloads.data, record=True)
        for pointer in [*write_pointers(texts), *remove_other_pointers(downloads.data, texts)]:
            print(pointer)
        return
    if addresses:
        print(table_of(catalogue, read_tried(path)))
        return
    if consent is not None:
        _agree(consent, catalogue, path, downloads.data)
        return
    if dataset is None and probe:
        _probe(catalogue, path, list(catalogue.datasets), downloads.data)
        return
    if dataset is None:
        raise InputError(f"name a dataset; there are: {', '.join(catalogue.datasets)}.", where=path)
    if dataset not in catalogue.datasets and (meant := datasets_called(dataset)):
        dataset = CATALOGUE_NAMES[meant[0]]
    _check_name(path, f"there is no dataset '{dataset}'", dataset, catalogue.datasets)
    if probe:
        _probe(catalogue, path, [dataset], downloads.data)
        return
    entry = catalogue.datasets[dataset]
    files = list(each_once(files or ()))
    for file in files:
        _check_name(path, f"{dataset} has no file '{file}'", file, entry.files)
    folders = [downloads.data, *([] if mirror is None else [mirror])]
    failed = list[InputError]()
    for file in files or _all_files(entry, folders):
        try:
            print(fetch(entry, dataset, file, downloads.data, mirror))
            record_pointer(entry, entry.files[file], downloads.data)
        except InputError as error:
            told = error.errors if isinstance(error, InputErrors) else [error]
            several = len(files or entry.files) > 1
            failed += [InputError(f"{entry.files[file].path}: {one}") if several else one for one in told]
    if failed:
        raise failed[0] if len(failed) == 1 else InputErrors(failed)


def _all_files(entry: CatalogueEntry, folders: list[Path]) -> list[str]:
    """List what is fetched where no file is named, that without an address last.

    An excerpt stands in for a whole file, which is fetched, and so does a file for the archive that it is in.
    """
    wanted = [
        name
        for name, about in entry.files.items()
        if about.excerpt_of is None and (about.member_of is None or at_hand(about.path, folders))
    ]
    return sorted(wanted, key=lambda name: entry.files[name].url is None and entry.files[name].made_of is None)


def _probe(catalogue: Catalogue, path: Path, datasets: list[str], data: Path) -> None:
    """Ask every host, say what it answers, and write that down as it comes: a kill loses one answer."""
    reached, asked = 0, list(addresses_of(catalogue, datasets))
    for url, file in asked:
        found = probe_address(url, file, data)
        reached += found.reached
        print(f"{url}: {_in_words(found, file, with_size=True)}", flush=True)
        write_tried(path, {url: found})
    print(f"{reached} of {len(asked)} addresses reached; {path.with_name(TRIED)} has what they answered.")


def _agree(name: str, catalogue: Catalogue, path: Path, data: Path) -> None:
    """Show the terms of a consent, ask, and write it down if the answer is yes."""
    files = [about for entry in catalogue.datasets.values() for about in entry.files.values()]
    known = {about.consent.name: about.consent for about in files if about.consent is not None}
    _check_name(path, f"no file needs a consent '{name}'", name, known)
    consent, needing = known[name], catalogue.needing(known[name])
    if is_agreed(consent, data):
        print(f"{data / CONSENTS}: you have agreed to {consent.terms}.")
        return
    print(f"Terms: {consent.terms}\nFiles: {', '.join(needing)}")
    if not typer.confirm("Have you read the terms, and do you agree?", default=False):
        raise InputError(f"nothing was written; {needing[0]} is fetched only once you agree.", where=data / CONSENTS)
    print(write_consent(consent, data))


COLUMNS = ("file", "address", "tried", "consent, token", "SHA-256 known", "bytes")


def table_of(catalogue: Catalogue, tried: Mapping[str, Tried]) -> str:
    """Return a table in Markdown: addresses of every file, who names them, and what is known of it.

    Args:
        catalogue: The list of downloads.
        tried: What hosts answered, by address.
    """
    rows = []
    for entry in catalogue.datasets.values():
        for about in entry.files.values():
            asked = [f"consent `{about.consent.name}`: {about.consent.terms}"] if about.consent else []
            asked += [f"`{about.token}`, if it is set"] if about.token else []
            urls = [about.url, *about.more_urls] if about.url else []
            answers = "; ".join(_answer(tried.get(url), file=about) for url in urls)
            if not any(url in tried for url in urls):
                answers = "by nobody yet" if urls else ""
            answers += f"; named by {about.stated_by}" if about.stated_by else ""
            known = "yes" if about.sha256 else "MD5 alone" if about.md5 else "no: recorded at the first download"
            if about.made_of or about.member_of:
                known = "yes" if about.sha256 else "no"
            size = f"{about.size:,}" if about.size else "unknown"
            rows.append([f"`{about.path}`", _address(entry, about), answers, "; ".join(asked), known, size])
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *rows]
    return "\n".join(piped(cell.replace("|", "\\|") for cell in line) for line in lines)


def _answer(tried: Tried | None, file: CatalogueFile) -> str:
    if tried is None:
        return "not tried"
    return f"{tried.on}: {_in_words(tried, file, with_size=file.size is None)}"


def _in_words(tried: Tried, file: CatalogueFile | None, with_size: bool) -> str:
    moved = f", moved to {tried.moved_to}" if tried.moved_to else ""
    size = f", {tried.size:,} bytes" if with_size and tried.size is not None else ""
    differs = f"; {other}" if (other := difference(file, tried)) else ""
    return f"{tried.answer}{moved}{size}{differs}"


def _address(entry: CatalogueEntry, about: CatalogueFile) -> str:
    if about.url:
        return " or ".join([about.url, *about.more_urls])
    if about.made_of:
        return f"made by a program from `{entry.files[about.made_of].path}`"
    if about.member_of:
        return f"in `{entry.files[about.member_of].path}`, which is read"
    return f"none: {(about.fetch_by_hand or '').strip().rstrip('.')}"


def _check_name(catalogue: Path, what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known) or f"there are: {', '.join(known)}."
        raise InputError(f"{what}; {hint}", where=catalogue)
