"""Fetches the files of the catalogue from a mirror or from their hosts: resumed, checked, whole or absent.

A file from a mirror is checked against the mirror's ``SHA256SUMS``, a download against ``sha256`` in
``config/datasets.yaml``. If the checksum is not known, that of the first copy is written to ``<file>.sha256`` beside
the data, and later copies from the same source are checked against it. A mirror that has a ``SHA256SUMS`` must list the
file; a mirror without one is treated like a host. A file that a person put in place is accepted as it is, and its
checksum is recorded. What has no known checksum must at least be whole by its content, and no web page (a login, an
error with status 200): it would otherwise be taken for the file from then on.

A host is asked for a file only once a person has agreed to the terms that the catalogue names (``consents.yaml``). A
token comes from the environment, goes to the host of ``url`` alone, encrypted, and is never shown.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import ssl
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from fivesentences.config.consents import is_agreed, request
from fivesentences.config.datasets import CatalogueEntry, CatalogueFile
from fivesentences.console import Bar, working
from fivesentences.corpus.catalogue import HOST, MIRROR, PAGE, PERSON, forget, record_of, recorded
from fivesentences.corpus.content import check_kind
from fivesentences.documents import check_file, read_bytes
from fivesentences.errors import InputError, InputErrors, cure_of, reason_of
from fivesentences.storage import alone, inside, md5_of, remove_unlocked, replacing, sha256_of, write_lines

CHUNK = 1 << 14  # bytes; small: what has arrived of a chunk is lost where the host hangs up
SMALL, SMALL_SHOWN_AFTER = 1 << 20, 2.0  # bytes; seconds until a bar is shown
ATTEMPTS = 4
SECONDS_BETWEEN_ATTEMPTS = 2.0
LONGEST_WAIT = 600.0  # seconds that a host may ask for
TIMEOUT = (20.0, 60.0)  # seconds to connect, seconds without a byte
CORRECT_THE_URL = "correct the url in the catalogue or put the file in place by hand"
LOCAL = ("127.0.0.1", "localhost", "::1")  # hosts to which a token may go without encryption
# What is no interruption: asking again would bring the same answer.
_NO_HOST = {
    "SSLError": "its certificate is not trusted",
    "ProxyError": "the proxy (HTTPS_PROXY) does not answer",
    "Failed to resolve": "the name of the host is not known",
    "Connection refused": "the host refuses the connection",
}
INTERRUPTED = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)


def find_mirror(configured: Path | str | None) -> Path | None:
    """Return the mirror that the configuration names or, failing that, the variable FIVESENTENCES_MIRROR.

    Raises:
        InputError: If the named folder does not exist.
    """
    named = configured or os.environ.get("FIVESENTENCES_MIRROR") or None
    if named is not None and not Path(named).is_dir():
        origin = "mirror" if configured else "FIVESENTENCES_MIRROR"
        raise InputError(f"{origin} is '{named}', which is not a folder; correct it or leave it out.")
    return None if named is None else Path(named)


def fetch(entry: CatalogueEntry, dataset: str, file: str, data_folder: Path | str, mirror: Path | None) -> Path:
    """Copy or download one file of the catalogue to the data folder, or check the copy that is already there.

    Args:
        entry: The dataset's entry in the catalogue.
        dataset: The entry's name, for messages.
        file: Name of the file in ``entry.files``.
        data_folder: The folder that the file's ``path`` is relative to.
        mirror: A folder laid out like the data folder, or None; files that it lacks come from the host.

    Returns:
        Path of the complete, checked file.

    Raises:
        InputError: If the file is unknown, a checksum or size differs, the download fails (what has arrived stays in
            ``<file>.<tag>.part``, and the next call resumes there), a person must agree to the terms first, or only a
            person can fetch it.
    """
    if file not in entry.files:
        raise InputError(f"{dataset} has no file '{file}'; the catalogue lists {', '.join(entry.files)}.")
    item = entry.files[file]
    target = inside(data_folder, item.path)
    copy = None if mirror is None else inside(mirror, item.path)
    lock = target.with_name(f".{target.name}.lock")
    if target.exists():
        remove_unlocked(lock)  # of a process killed at its very end
        _check_present(item, target, mirror)
    elif mirror is not None and copy is not None and copy.exists():
        check_file(copy)
        listed = _listed(mirror, item)
        with replacing(target) as temporary, working(f"copy {item.path}"):
            shutil.copyfile(copy, temporary)
            if listed is None and item.sha256 is None:
                check_kind(temporary, item.path, copy, "put the right file into the mirror", unpacking=True)
            _check_new(item, target, sha256_of(temporary), MIRROR, listed)
    elif item.made_of is not None:
        fetch(entry, dataset, item.made_of, data_folder, mirror)
        with alone(lock, f"{target} is being made by another process; waiting"):
            if not target.exists():
                from fivesentences.corpus.pascal_page import collect  # which downloads by functions of this module

                page = entry.files[item.made_of]
                collect(inside(data_folder, page.path), [url for url in (page.url, *page.more_urls) if url], target)
                _record(target, sha256_of(target), PAGE)
    elif item.url is None:
        todo = item.fetch_by_hand or "a program cannot download it."
        if item.member_of is not None:
            todo = f"it is in {entry.files[item.member_of].path}, which is read instead."
        raise InputError(f"{dataset}: '{file}' must be fetched by a person: {todo.strip()} Put it at {target}.")
    elif item.consent is not None and not is_agreed(item.consent, data_folder):
        needing = [one.path for one in entry.files.values() if one.consent == item.consent]
        raise InputError(request(item.consent, needing, data_folder))
    else:
        with alone(lock, f"{target} is being fetched by another process; waiting"):
            if target.exists():  # the other process has fetched it
                _check_present(item, target, mirror)
                return target
            failed = list[InputError]()
            for url in (item.url, *item.more_urls):
                try:
                    _download(item, url, target)
                    return target
                except InputError as error:
                    failed.append(error)
            raise failed[0] if len(failed) == 1 else InputErrors(failed)
    return target


# --- checksums ----------------------------------------------------------------------------------------------


def _record(target: Path, sha256: str, source: str) -> None:
    write_lines(record_of(target), [f"# from {source}", f"{sha256}  {target.name}"])


def _listed(mirror: Path, item: CatalogueFile) -> str | None:
    """Return the checksum in the mirror's list; None if it has no list."""
    sums = mirror / "SHA256SUMS"
    if not sums.exists():
        return None
    for number, line in enumerate(read_bytes(sums).decode("utf-8", "replace").split("\n"), 1):
        found = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+?)\s*", line)
        if found is None and line.strip() and not line.startswith("#"):
            raise InputError(f"line {number} is '{line[:40]}'; expected <SHA-256>  <path>.", where=sums)
        if found is not None and PurePosixPath(found[2]) == PurePosixPath(item.path):
            return found[1].lower()
    raise InputError(f"it does not list '{item.path}'; add its line (sha256sum {item.path}).", where=sums)


def _compare(what: Path, actual: str, expected: str, listed: str, cure: str) -> None:
    if actual != expected:
        problem = f"its SHA-256 is {actual[:16]}... but {listed} says {expected[:16]}..."
        raise InputError(problem, where=what, cure=cure)


def _check_present(item: CatalogueFile, target: Path, mirror: Path | None) -> None:
    """Check the file that is in place against its record, the catalogue and the mirror."""
    actual, record = sha256_of(target), recorded(target)
    name = record_of(target).name
    is_ours = record is not None and record[1] != PERSON and not target.is_symlink()
    cure = "delete the file and run again" if is_ours else "put the right file in its place"
    if item.sha256 is None and item.md5 is None:
        of_person = cure if record is None else f"put the file back, or put the right one there and leave {name} out"
        try:
            check_kind(target, item.path, target, cure if is_ours else of_person)
        except InputError:
            if is_ours:
                forget(target)
            raise
    if record is not None:
        if record[1] == PERSON:
            cure = f"put the file back, or if it was replaced on purpose, leave {name} out"
        _compare(target, actual, record[0], record_of(target).name, cure)
        if item.sha256 is not None and record[1] != MIRROR:
            _compare(target, actual, item.sha256, "the catalogue", cure)
        return
    listed = _listed(mirror, item) if mirror is not None and inside(mirror, item.path).exists() else None
    if actual != listed and item.sha256 is not None:
        _compare(target, actual, item.sha256, "the catalogue", cure)
    elif listed is not None and item.url is not None:
        _compare(target, actual, listed, "the mirror's SHA256SUMS", cure)
    _record(target, actual, MIRROR if actual == listed else PERSON)


def _check_new(item: CatalogueFile, target: Path, actual: str, source: str, listed: str | None = None) -> None:
    """Check a new copy against the list of the mirror, the catalogue, or the record of an earlier copy; record it."""
    cure = "nothing was kept; run again, and if it happens again, the source has changed"
    if expected := listed or item.sha256:
        _compare(target, actual, expected, "the mirror's SHA256SUMS" if listed else "the catalogue", cure)
    elif (record := recorded(target)) is not None and record[1] == source:
        name = record_of(target).name
        _compare(target, actual, record[0], name, f"{cure}: delete {name} to accept that")
    _record(target, actual, source)


# --- from a host --------------------------------------------------------------------------------------------


def _download(item: CatalogueFile, url: str, target: Path) -> None:
    of_host = item.url is not None and urlsplit(url).netloc == urlsplit(item.url).netloc
    token = item.token if of_host else None
    part = receive(url, target, item.size, known=item.sha256 is not None, token=token)
    try:
        if (actual := sha256_of(part)) != item.sha256:
            cure = "nothing was kept; open the address in a browser (a network may ask for a login), and run again"
            check_kind(part, item.path, url, cure, unpacking=item.sha256 is None and item.md5 is None)
        if item.size not in (None, size := part.stat().st_size):
            raise InputError(f"{url}: {size} bytes arrived but the catalogue says {item.size}; nothing was kept.")
        if item.sha256 is None and item.md5 not in (None, md5 := md5_of(part)):
            raise InputError(f"{url}: its MD5 is {md5} but the catalogue says {item.md5}; nothing was kept.")
        _check_new(item, target, actual, HOST)
    except InputError:
        part.unlink()  # if it were kept, the next call would consider it complete and fail again
        raise
    with part.open("r+b") as written:
        os.fsync(written.fileno())
    part.replace(target)


def receive(
    url: str,
    target: Path,
    size: int | None = None,
    cure: str = CORRECT_THE_URL,
    *,
    known: bool = True,
    token: str | None = None,
) -> Path:
    """Download ``url`` to a part file beside ``target``, resuming where an earlier, interrupted call stopped.

    Args:
        url: Address of the file.
        target: The future name of the file; the caller checks the part file and renames or removes it.
        size: Length of the file, if it is known; what is longer is refused.
        cure: Advice for a person if the host refuses.
        known: Whether the caller compares a checksum. Without one nothing is resumed that the host does not name by
            a strong validator, and no step from https to http is taken.
        token: Variable of the environment with a token for this host; it is sent if it is set.

    Returns:
        Path of the part file, which has the length that the host states.

    Raises:
        InputError: If the host refuses, cannot be reached, has another length, or breaks off every attempt; or if the
            disk is full.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    attempt, most = 1, _arrived(target)
    while True:
        try:
            return _receive(url, target, size, cure, known, token)
        except INTERRUPTED as error:
            if reason := _why_no_host(error):
                again = f"run again once it answers, or put the file at {target}"
                raise InputError(f"{reason} ({_innermost(error)})", where=url, cure=again) from None
            if (arrived := _arrived(target)) > most:
                attempt, most = 0, arrived  # no failure: it is further than it ever was
            wait = error.seconds if isinstance(error, _Busy) else 0.0
            if attempt >= ATTEMPTS or wait > LONGEST_WAIT:
                reason = f"{error.args[0]}, and asks to wait {wait:,.0f} s" if wait else type(error).__name__
                what = f"{url}: the download stopped after {arrived} bytes ({reason}); run again to resume there."
                raise InputError(what) from None
            attempt += 1
            wait = max(wait, SECONDS_BETWEEN_ATTEMPTS * (attempt - 1))
            why = f", {error}" if isinstance(error, _Busy) else ""
            said = f"{url}: interrupted after {arrived:,} bytes{why}; attempt {attempt} of {ATTEMPTS} in {wait:,.0f} s"
            print(said, file=sys.stderr, flush=True)
            time.sleep(wait)
        except requests.RequestException as error:
            raise InputError(f"{url} cannot be fetched ({type(error).__name__}: {error}).") from None


class _Busy(requests.ConnectionError):
    """The host answered that it cannot serve now.

    Args:
        status: The status of the answer.
        headers: Its headers, of which Retry-After says how long to wait: seconds, or a date.
    """

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(f"the host answered {status}")
        asked = headers.get("Retry-After", "").strip()
        until = None if asked.isdecimal() else _time_of(asked)
        later = 0.0 if until is None else (until - (_time_of(headers.get("Date")) or datetime.now(UTC))).total_seconds()
        self.seconds = float(asked[:9]) if asked.isdecimal() else max(0.0, later)


def _arrived(target: Path) -> int:
    """Return the bytes of a file that earlier attempts left."""
    return sum(found.stat().st_size for found in _parts(target))


def _why_no_host(error: Exception) -> str:
    """Say why asking again would bring the same answer; empty if it may not."""
    return next((said for sign, said in _NO_HOST.items() if sign in f"{type(error).__name__} {error}"), "")


def reason_of_no_answer(error: requests.RequestException) -> str:
    """Say in a few words why a host did not answer."""
    return _why_no_host(error) or _innermost(error)


def _parts(target: Path) -> list[Path]:
    """Return the part files of earlier, interrupted downloads."""
    pattern = re.compile(re.escape(target.name) + r"\.[0-9a-f]{12}\.part")
    return sorted(path for path in target.parent.iterdir() if pattern.fullmatch(path.name))


def _innermost(error: BaseException) -> str:
    """Return what the exception says that others were raised for."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return reason_of(error)


def _receive(url: str, target: Path, size: int | None, cure: str, known: bool, token: str | None) -> Path:
    """Bring the part file to its full length, resuming where an earlier call stopped if the host allows it.

    The name of the part file contains a tag of the host's version of the file (its validator, and length), so that
    bytes of two versions are never joined; a weak validator is enough only where the caller compares a checksum.
    """
    for part in _parts(target):
        done = part.stat().st_size
        with _get(url, done, cure, known, token) as response:
            total = total_of(response)
            resumable = known or _is_strong(response)
            if resumable and response.status_code == 416 and total == done:
                return part  # it was complete; the process was killed before renaming it
            begins = response.headers.get("Content-Range", "").replace(" ", "").startswith(f"bytes{done}-")
            if resumable and response.status_code == 206 and part == _part_path(target, response) and begins:
                _append(response, part, done, total, size)
                return part
        part.unlink()
    with _get(url, 0, cure, known, token) as response:
        part = _part_path(target, response)
        _append(response, part, 0, total_of(response), size)
    return part


class _TrustsTheSystem(HTTPAdapter):
    """Trusts the system's certificates, such as those of a proxy, besides those of requests."""

    def init_poolmanager(self, *arguments: Any, **keywords: Any) -> None:
        super().init_poolmanager(*arguments, **keywords, ssl_context=ssl.create_default_context())


def ask(method: str, url: str, headers: Mapping[str, str] | None = None, token: str | None = None) -> requests.Response:
    """Ask a host, whose content is not read yet.

    Args:
        method: ``GET`` or ``HEAD``.
        url: Address.
        headers: Further headers.
        token: Variable of the environment with a token for this host.

    Raises:
        InputError: If the token is none.
        requests.RequestException: If there is no answer.
    """
    # Uncompressed, so that lengths and offsets are those of the file itself.
    every = {"Accept-Encoding": "identity", "User-Agent": "fivesentences"} | dict(headers or {})
    every |= _authorization(url, token)  # which requests leaves out where another host answers
    session = requests.Session()
    session.mount("https://", _TrustsTheSystem())
    return session.request(method, url, headers=every, stream=True, timeout=TIMEOUT, allow_redirects=True)


def _get(url: str, start: int, cure: str, known: bool, token: str | None = None) -> requests.Response:
    headers = {"Range": f"bytes={start}-"} if start else {}
    response = ask("GET", url, headers, token)
    steps = [one.url for one in (*response.history, response)]
    if not known and any(a.startswith("https:") and b.startswith("http:") for a, b in pairwise(steps)):
        response.close()
        what = f"{url}: the host sends on to {steps[-1]}, without encryption, and no SHA-256 is known that would tell a"
        raise InputError(f"{what} forgery; {cure}.")
    if response.status_code >= 400 and not (start and response.status_code == 416):
        response.close()
        if response.status_code >= 500 or response.status_code == 429:
            raise _Busy(response.status_code, response.headers)
        if token is not None and response.status_code in (401, 403):
            refused = (
                f"and the token in {token} was refused" if _authorization(url, token) else f"and {token} is not set"
            )
            cure = f"set {token} to a token of your own for {urlsplit(url).hostname} and run again"
            raise InputError(f"the host answered {response.status_code}, {refused}", where=url, cure=cure)
        raise InputError(f"{url}: the host answered {response.status_code} {response.reason}; {cure}.")
    return response


def _authorization(url: str, token: str | None) -> dict[str, str]:
    """Return the header with the token of the environment; none where it is not set, or could be overheard."""
    value, parts = os.environ.get(token or "", ""), urlsplit(url)
    if not value or not (parts.scheme == "https" or parts.hostname in LOCAL):
        return {}
    if not re.fullmatch(r"[!-~]+", value):  # the error of requests would show it
        raise InputError(f"{token} is not a token: it has a space, a line break or a letter beyond ASCII; correct it.")
    return {"Authorization": f"Bearer {value}"}


def total_of(response: requests.Response) -> int | None:
    """Return the length of the whole file as stated by the host."""
    whole = response.headers.get("Content-Length", "") if response.status_code == 200 else ""
    length = response.headers.get("Content-Range", whole).rpartition("/")[2]
    return int(length) if length.isdigit() else None


def _part_path(target: Path, response: requests.Response) -> Path:
    version = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
    tag = hashlib.sha256(f"{version} {total_of(response)}".encode()).hexdigest()[:12]
    return target.with_name(f"{target.name}.{tag}.part")


def _is_strong(response: requests.Response) -> bool:
    """Return True if the host names this version so that equal names mean equal bytes (RFC 9110, 8.8)."""
    headers = response.headers
    if etag := headers.get("ETag"):
        return not etag.startswith("W/")
    modified, now = (_time_of(headers.get(name)) for name in ("Last-Modified", "Date"))
    return modified is not None and now is not None and (now - modified).total_seconds() >= 60


def _time_of(text: str | None) -> datetime | None:
    """Return the time that a header says; None without one."""
    try:
        found = None if text is None else parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return None if found is None else found.replace(tzinfo=found.tzinfo or UTC)


def _append(response: requests.Response, part: Path, done: int, total: int | None, size: int | None) -> None:
    """Add what the host sends to the part file, but nothing beyond the length that is known.

    Args:
        response: The host's answer.
        part: The file.
        done: Bytes that it has.
        total: Length of the whole file as the host says it.
        size: The same as the catalogue does.
    """
    if None not in (total, size) and total != size:
        raise InputError(f"{response.url}: {total} bytes would arrive but the catalogue says {size}; nothing was kept.")
    most = total if size is None else size
    free = shutil.disk_usage(part.parent).free
    if most is not None and most - done > free:
        what = f"{(most - done) / 1e9:,.2f} GB are to come, and {free / 1e9:,.2f} GB are free at {part.parent}"
        raise InputError(what, where=response.url, cure="make room and run again: what arrived is kept")
    delay = SMALL_SHOWN_AFTER if most is not None and most < SMALL else 0.0  # of a thousand photographs, for example
    with part.open("ab") as file, Bar(f"download {part.name} [bytes]", most or 0, done, delay=delay) as bar:
        for chunk in response.iter_content(chunk_size=CHUNK):
            done += len(chunk)
            if most is not None and done > most:
                file.close()
                part.unlink()
                raise InputError(f"{response.url}: more than the {most} bytes of the file arrive; nothing was kept.")
            try:
                file.write(chunk)
                file.flush()
            except OSError as error:
                what = f"it cannot be written ({error.strerror or error})"
                raise InputError(what, where=part, cure=cure_of(error, "what arrived is kept")) from None
            bar.advance(len(chunk))
    if total is not None and part.stat().st_size < total:
        raise requests.ConnectionError(f"{part.stat().st_size} of {total} bytes arrived")
