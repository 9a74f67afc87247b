"""Datasets by the way they are read, and the catalogue of files to download."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Count, EnvironmentName, Md5, Name, Seed, Sha256, Split, Strict

CatalogueLoader = Literal["flickr8k", "karpathy", "pascal_sentences", "wikipedia_articles"]


class ScenesData(Strict):
    """The embedded corpus of drawn scenes."""

    loader: Literal["scenes"]
    seed: Seed = 2022
    train: Count = 800
    dev: Count = 100
    test: Count = 200


class ReleasedRegions(Strict):
    """A ``<prefix>_precomp`` folder with the regions of a dataset's images, as SCAN's successors read them."""

    folder: Path
    prefix: str | None = None
    """null: the folder's name before '_precomp'."""
    testall: bool = False
    """COCO: all 5,000 test images, not the first 1,000."""


class CatalogueData(Strict):
    """A public dataset whose files ``config/datasets.yaml`` lists under the dataset's own name."""

    loader: CatalogueLoader
    member: str | None = None
    """karpathy: the JSON file inside the zip, if it contains several."""
    order: Literal["file", "released"] = "file"
    """karpathy: of the images; released: restval of COCO last, as in the files released with SCAN."""
    captions_per_image: Count | None = None
    """karpathy: only the first so many captions of each image; null: all."""
    splits: list[Split] | None = Field(default=None, min_length=1)
    """The splits to read; null: all."""
    regions: ReleasedRegions | None = None
    """karpathy: a precomp folder with released features of its images; the scale's grid_features are read there."""

    @model_validator(mode="after")
    def _only_karpathy_leaves_a_choice(self) -> CatalogueData:
        for key in ("order", "captions_per_image"):
            if self.loader != "karpathy" and key in self.model_fields_set:
                raise ValueError(f"{key} is given, but only the loader karpathy reads it; remove it")
        return self


class PrecompData(Strict):
    """The ``<prefix>_precomp`` folder that the released code of SCAN, VSRN, CVSE and SGRAF reads."""

    loader: Literal["precomp"]
    folder: Path
    prefix: str | None = None
    """null: the folder's name before '_precomp'."""
    testall: bool = False
    """COCO: all 5,000 test images, not the first 1,000."""


class FolderData(Strict):
    """A user's own data: a folder of images and a CSV of (filename, caption, split)."""

    loader: Literal["folder"]
    photographs: Path
    captions: Path


Dataset = Annotated[ScenesData | CatalogueData | PrecompData | FolderData, Field(discriminator="loader")]


class Consent(Strict):
    """What somebody must agree to before a file is fetched; a person writes it into ``consents.yaml``."""

    name: Name
    """Files of the same name need it once."""
    terms: str
    """Address of the terms."""


class CatalogueFile(Strict):
    """One file to download."""

    path: str
    """Path below the data folder and below a mirror."""
    excerpt_of: Name | None = None
    """The file of the entry that it can replace."""
    splits: list[Split] = Field(default=[])
    """The splits of an excerpt."""
    member_of: Name | None = None
    """The archive of the entry that contains it, and is read where neither a person nor a mirror has this file."""
    made_of: Name | None = None
    """The page of the entry that a program makes it from where neither a person nor a mirror has it."""
    version: str
    url: str | None
    """Null if no address is known, or a program makes the file."""
    more_urls: list[str] = Field(default=[])
    """Hosts of the same bytes, asked in turn where url fails."""
    stated_by: str | None = None
    """Who names the addresses, where that is not the owner of the data."""
    token: EnvironmentName | None = None
    """The variable of the environment whose token is sent to the host of url, if it is set."""
    consent: Consent | None = None
    """What a person must agree to first."""
    sha256: Sha256 | None
    md5: Md5 | None = None
    """As DVC knows the file: with it, a remote of your own can keep it; null: none keeps it."""
    size: int | None
    """Size in bytes; null if unknown."""
    variants: dict[Sha256, str] = Field(default={})
    """Other files that stand in for it, in a mirror, by their digests: what they are, in words."""
    licence: str
    fetch_by_hand: str | None = None
    """What a person must do if url is null."""

    @model_validator(mode="after")
    def _checked_where_several_hosts_have_it(self) -> CatalogueFile:
        others = [url for url in self.more_urls if self.url is None or not is_copy_of(self.url, url)]
        if others and (self.url is None or self.sha256 is None):
            raise ValueError(
                "more_urls needs url and sha256: only a checksum tells whether two hosts have the same file "
                "(without one, only the Internet Archive's copies of url are allowed)"
            )
        return self


def is_copy_of(url: str, other: str) -> bool:
    """Return True if another address is that of a web archive's copy of the first, which it ends in."""
    return other.startswith(("http://", "https://")) and other.endswith(f"id_/{url}")


class CatalogueFolder(Strict):
    """A folder below the data folder that is unpacked from archives of its entry."""

    archives: list[Name] = Field(min_length=1)
    """Files of the entry."""
    any_of_them: bool = False
    """Each archive alone has everything: the first that is here is unpacked, or the first that is fetched."""
    within: str | None = None
    """Name of the folder in the archive, at any depth, whose files are taken; null: all files."""
    holds: list[str] = Field(min_length=1)
    """Names of files without which it is not what it should be."""
    size: int | None = None
    """Bytes of its files, about; null: unknown."""


class CatalogueEntry(Strict):
    """A dataset of the catalogue."""

    title: str
    images: dict[Split, Count] | None = None
    """Images of each split, for `fivesentences doctor SCALE`; null: it has none, or they vary."""
    captions_per_image: Count = 5
    """About how many captions an image has, likewise."""
    files: dict[Name, CatalogueFile]
    folders: dict[Name, CatalogueFolder] = Field(default={})
    """Folders of the data folder that are unpacked from these files, by their names."""

    @model_validator(mode="after")
    def _names_its_own_files(self) -> CatalogueEntry:
        named = {other for file in self.files.values() for other in (file.excerpt_of, file.member_of, file.made_of)}
        named |= {archive for folder in self.folders.values() for archive in folder.archives}
        if unknown := sorted(name for name in named if name is not None and name not in self.files):
            raise ValueError(f"'{unknown[0]}' is not one of its files ({', '.join(self.files)})")
        return self


class Catalogue(Strict):
    """``config/datasets.yaml``."""

    datasets: dict[Name, CatalogueEntry]

    def needing(self, consent: Consent) -> list[str]:
        """Return the paths of the files that need a consent."""
        files = (file for entry in self.datasets.values() for file in entry.files.values())
        return [file.path for file in files if file.consent == consent]
