"""Downloads and mirrors: whole and checked, or absent; a host with Range support runs in a thread."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import ssl
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import numpy as np
import pandas as pd
import pytest
import requests
import trustme
from PIL import Image
from scipy.io import savemat

from fivesentences.config.datasets import CatalogueEntry, CatalogueFile, CatalogueFolder
from fivesentences.corpus import download, fetch, find_mirror
from fivesentences.corpus.archives import open_zip, read_entry
from fivesentences.corpus.unpacking import unpack
from fivesentences.errors import InputError
from host import running_host
from kill import Program


def zipped(seed: int, size: int = 3_000_000) -> bytes:
    """A zip archive of so many bytes."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a"), np.random.default_rng(seed).bytes(size - AROUND))
        return file.getvalue()


AROUND = 100  # bytes of a zip with one stored entry of this name
DATA, OTHER = zipped(0), zipped(1)
SHA = hashlib.sha256(DATA).hexdigest()


PLACE = "/archive.zip"


@pytest.fixture
def host(host):
    host.files[PLACE] = DATA
    host.url += PLACE
    return host


def entry(url, sha256=None, size=None, path="mine/archive.zip", **more):
    file = CatalogueFile(path=path, version="1", url=url, sha256=sha256, size=size, licence="none", **more)
    return CatalogueEntry(title="Mine", files={"archive": file})


def get(entry, folder, mirror=None):
    return fetch(entry, "mine", "archive", folder, mirror)


def left_in(folder):
    return sorted(path.name for path in (folder / "mine").iterdir()) if (folder / "mine").exists() else []


@pytest.fixture
def make_mirror(tmp_path):
    """Makes a mirror that holds the file, with a SHA256SUMS of this text."""

    def make_mirror(sums):
        (tmp_path / "mirror" / "mine").mkdir(parents=True)
        (tmp_path / "mirror" / "mine" / "archive.zip").write_bytes(DATA)
        if sums is not None:
            (tmp_path / "mirror" / "SHA256SUMS").write_text(sums)
        return tmp_path / "mirror"

    return make_mirror


# --- from the host ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_download_is_whole_and_its_checksum_is_recorded(host, tmp_path, known):
    path = get(entry(host.url, SHA if known else None, len(DATA)), tmp_path)
    assert path == tmp_path / "mine" / "archive.zip"
    assert path.read_bytes() == DATA
    assert left_in(tmp_path) == ["archive.zip", "archive.zip.sha256"]
    assert f"{SHA}  archive.zip" in (tmp_path / "mine" / "archive.zip.sha256").read_text()


def test_where_the_first_address_fails_the_next_is_asked(host, tmp_path):
    gone = host.url.replace(PLACE, "/gone.zip")
    path = get(entry(gone, SHA, len(DATA), more_urls=[host.url]), tmp_path)
    assert path.read_bytes() == DATA and left_in(tmp_path) == ["archive.zip", "archive.zip.sha256"]
    assert [place for place, _ in host.requests] == ["/gone.zip", PLACE]


def test_if_no_address_has_the_file_there_is_one_sentence_for_each(host, tmp_path):
    first, second = (host.url.replace(PLACE, f"/{name}.zip") for name in ("gone", "lost"))
    with pytest.raises(
        InputError, match=r"gone.zip: the host answered 404[^\n]*\n[^\n]*lost.zip: the host answered 404"
    ):
        get(entry(first, SHA, more_urls=[second]), tmp_path)
    assert left_in(tmp_path) == []


def test_a_download_is_checked_by_its_md5_where_only_that_is_known(host, tmp_path):
    md5 = hashlib.md5(DATA, usedforsecurity=False).hexdigest()
    with pytest.raises(InputError, match=f"its MD5 is {md5} but the catalogue says 0{{32}}"):
        get(entry(host.url, md5="0" * 32), tmp_path)
    assert left_in(tmp_path) == []
    assert get(entry(host.url, md5=md5), tmp_path).read_bytes() == DATA


def test_a_file_that_is_there_is_checked_and_not_fetched_again(host, tmp_path):
    get(entry(host.url, SHA), tmp_path)
    get(entry(host.url, SHA), tmp_path)
    assert host.requests == [(PLACE, None)]
    (tmp_path / "mine" / "archive.zip").write_bytes(DATA[:-1])
    with pytest.raises(InputError, match="delete"):
        get(entry(host.url, SHA), tmp_path)
    assert len(host.requests) == 1


def leave_part(host, folder, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(InputError, match=r"stopped after \d+ bytes .*; run again to"):
        patch.setattr(download, "ATTEMPTS", 1)
        patch.setattr(download.time, "sleep", lambda _: setattr(host, "status", 503))  # once some has arrived
        host.hang_up_after = 1_000_000
        get(entry(host.url), folder)
    host.hang_up_after, host.status = None, 200
    host.requests.pop()  # the one that was refused
    return folder / "mine" / left_in(folder)[0]


def test_an_interrupted_download_resumes_where_it_stopped(host, tmp_path, monkeypatch):
    part = leave_part(host, tmp_path, monkeypatch)
    assert left_in(tmp_path) == [part.name] and part.suffix == ".part"
    arrived = part.stat().st_size
    assert 0 < arrived <= 1_000_000
    assert get(entry(host.url, SHA), tmp_path).read_bytes() == DATA
    assert host.requests == [(PLACE, None), (PLACE, f"bytes={arrived}-")]
    assert left_in(tmp_path) == ["archive.zip", "archive.zip.sha256"]


def test_a_killed_download_leaves_only_a_part_and_the_next_resumes_there(host, tmp_path):
    host.hang_up_after = 1_000_000
    host.keeps_waiting.set()  # the connection stays open without a byte, so the kill comes in its midst
    code = "import sys; from pathlib import Path; from fivesentences.config.datasets import CatalogueEntry; "
    code += "from fivesentences.corpus import fetch; entry = CatalogueEntry.model_validate_json(sys.argv[1]); "
    code += "fetch(entry, 'mine', 'archive', Path(sys.argv[2]), None)"
    with Program(code, entry(host.url, SHA).model_dump_json(), tmp_path) as program:
        program.wait_for(lambda: any((tmp_path / "mine" / name).stat().st_size for name in left_in(tmp_path)))
    lock, part = left_in(tmp_path)
    assert lock == ".archive.zip.lock" and part.endswith(".part")
    arrived = (tmp_path / "mine" / part).stat().st_size
    host.hang_up_after = None
    host.keeps_waiting.clear()
    assert get(entry(host.url, SHA), tmp_path).read_bytes() == DATA
    assert host.requests == [(PLACE, None), (PLACE, f"bytes={arrived}-")]


def test_a_host_that_hangs_up_now_and_then_is_asked_again(host, tmp_path):
    host.hang_up_after = 1_200_000
    assert get(entry(host.url, SHA), tmp_path).read_bytes() == DATA
    assert len(host.requests) == 3


def test_a_host_that_hangs_up_always_is_asked_as_long_as_more_arrives(host, tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(download.time, "sleep", waits.append)
    host.hang_up_after = len(DATA) // 20
    assert get(entry(host.url, SHA), tmp_path).read_bytes() == DATA
    assert len(host.requests) > 20 > download.ATTEMPTS and set(waits) == {0}
    host.ranges, host.requests[:] = False, []  # begins again each time: no further than before
    with pytest.raises(InputError, match=r"stopped after \d+ bytes"):
        get(entry(host.url, SHA), tmp_path / "again")
    assert len(host.requests) <= 2 * download.ATTEMPTS + 2


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("asked", [7, "in a minute"])
def test_a_busy_host_is_asked_again_when_it_says(host, tmp_path, monkeypatch, status, asked):
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        host.status = 200

    monkeypatch.setattr(download.time, "sleep", sleep)
    host.status, seconds = status, asked if isinstance(asked, int) else 60
    host.version["Retry-After"] = str(asked) if isinstance(asked, int) else formatdate(time.time() + 60, usegmt=True)
    assert get(entry(host.url, SHA), tmp_path).read_bytes() == DATA
    assert len(waits) == 1 and seconds - 5 < waits[0] <= seconds


def test_a_host_that_asks_to_wait_for_hours_is_not_waited_for(host, tmp_path, monkeypatch):
    monkeypatch.setattr(download.time, "sleep", lambda seconds: pytest.fail(f"waits {seconds} s"))
    host.status, host.version["Retry-After"] = 429, "7200"
    with pytest.raises(InputError, match="asks to wait 7,200 s"):
        get(entry(host.url, SHA), tmp_path)
    assert len(host.requests) == 1 and left_in(tmp_path) == []


def test_two_downloads_of_one_file_at_once_are_one(host, tmp_path):
    host.hang_up_after = 1_000_000
    host.keeps_waiting.set()  # the first is in the middle of the file when the second begins
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(get, entry(host.url, SHA), tmp_path)
        while not host.requests:
            time.sleep(0.01)
        second = pool.submit(get, entry(host.url, SHA), tmp_path)
        time.sleep(0.5)
        host.hang_up_after = None
        host.keeps_waiting.clear()
        host.release.set()
        assert first.result().read_bytes() == second.result().read_bytes() == DATA
    assert sorted(left_in(tmp_path)) == ["archive.zip", "archive.zip.sha256"]
    assert len(host.requests) == 2  # the first, and where it went on


def another_version(host, part):
    host.files[PLACE], host.version = OTHER, {"ETag": '"v2"'}


def no_ranges(host, part):
    host.ranges = False


def killed_before_its_name(host, part):
    part.write_bytes(DATA)


def longer_than_the_file(host, part):
    part.write_bytes(DATA + b"more")


@pytest.mark.parametrize("change", [another_version, no_ranges, killed_before_its_name, longer_than_the_file])
def test_what_an_earlier_download_left_ends_up_in_no_other_file(host, tmp_path, monkeypatch, change):
    change(host, leave_part(host, tmp_path, monkeypatch))
    assert get(entry(host.url), tmp_path).read_bytes() == host.files[PLACE]
    assert left_in(tmp_path) == ["archive.zip", "archive.zip.sha256"]


@pytest.mark.parametrize(
    ("sha256", "size", "sentence"), [("0" * 64, None, "0000000000000000"), (None, 17, "3000000 bytes would arrive but")]
)
def test_a_wrong_checksum_or_size_leaves_nothing(host, tmp_path, sha256, size, sentence):
    with pytest.raises(InputError, match=sentence):
        get(entry(host.url, sha256, size), tmp_path)
    assert left_in(tmp_path) == []


def test_a_later_download_is_compared_with_the_first(host, tmp_path):
    path = get(entry(host.url), tmp_path)
    path.unlink()
    host.files[PLACE] = OTHER
    with pytest.raises(InputError, match=r"archive.zip.sha256 says .*; .*delete archive.zip.sha256 to accept that"):
        get(entry(host.url), tmp_path)
    assert left_in(tmp_path) == ["archive.zip.sha256"]
    host.files[PLACE] = DATA
    assert get(entry(host.url), tmp_path).read_bytes() == DATA


@pytest.mark.parametrize(
    ("url", "status", "sentence"),
    [
        ("{host}", 404, "the host answered 404"),
        ("{host}", 503, "stopped after 0 bytes"),
        ("http://127.0.0.1:9/x", 200, "refuses the connection"),
        ("http://nowhere.invalid/x", 200, "name of the host is not known"),
        ("nonsense://x", 200, "cannot be fetched"),
    ],
)
def test_a_host_that_refuses_or_is_not_there_and_a_url_that_is_none_are_one_sentence(
    host, tmp_path, refused, monkeypatch, url, status, sentence
):
    host.status, url = status, url.format(host=host.url)
    asked = []
    monkeypatch.setattr(download.time, "sleep", asked.append)
    with refused(url, sentence):
        get(entry(url), tmp_path)
    assert left_in(tmp_path) == []
    assert bool(asked) == (status == 503)  # only what may pass is tried again


VERSIONS = {
    "weak": lambda: {"ETag": 'W/"1"'},
    "none": dict,
    "a date of this second": lambda: {"Last-Modified": formatdate(usegmt=True)},
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("known", [True, False])
def test_two_versions_with_one_weak_name_are_not_joined(host, tmp_path, monkeypatch, version, known):
    host.version = VERSIONS[version]()
    leave_part(host, tmp_path, monkeypatch)
    host.files[PLACE] = OTHER
    if known:  # the parts are joined, but the checksum tells, and the next call begins again
        sha256 = hashlib.sha256(OTHER).hexdigest()
        with pytest.raises(InputError, match="nothing was kept"):
            get(entry(host.url, sha256), tmp_path)
        assert get(entry(host.url, sha256), tmp_path).read_bytes() == OTHER
    else:
        assert get(entry(host.url), tmp_path).read_bytes() == OTHER


def test_a_date_long_past_is_a_strong_name(host, tmp_path, monkeypatch):
    host.version = {"Last-Modified": formatdate(0, usegmt=True)}
    part = leave_part(host, tmp_path, monkeypatch)
    arrived = part.stat().st_size
    assert get(entry(host.url), tmp_path).read_bytes() == DATA
    assert host.requests[-1] == (PLACE, f"bytes={arrived}-")


def test_a_stream_longer_than_the_file_is_cut_at_its_length(host, tmp_path):
    host.says_length = False
    with pytest.raises(InputError, match="1000"):
        get(entry(host.url, size=1000), tmp_path)
    assert left_in(tmp_path) == []


def test_what_would_not_fit_is_not_begun(host, tmp_path, monkeypatch):
    class Usage:
        free = len(DATA) - 1

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(InputError, match="GB are free"):
        get(entry(host.url, SHA), tmp_path)
    assert left_in(tmp_path) == []
    Usage.free += 1
    assert get(entry(host.url, SHA), tmp_path).read_bytes() == DATA


def test_a_full_disk_is_said_and_what_arrived_is_kept(host, tmp_path, monkeypatch):
    full = tmp_path / "mine" / "archive.zip.0123456789ab.part"
    full.parent.mkdir()
    full.symlink_to("/dev/full")
    monkeypatch.setattr(download, "_part_path", lambda *_: full)
    monkeypatch.setattr(download, "_parts", lambda _: [])
    with pytest.raises(InputError) as error:
        get(entry(host.url, SHA), tmp_path)
    assert error.value.where == full and os.strerror(errno.ENOSPC) in str(error.value)
    assert full.is_symlink()


# --- by hand ------------------------------------------------------------------------------------------------


def test_a_file_for_a_person_says_what_to_fetch_and_where_to_put_it_and_is_then_accepted(tmp_path, refused):
    gated = entry(None, fetch_by_hand="ask for it at https://example.org/form.")
    place = tmp_path / "mine" / "archive.zip"
    with refused(
        "mine: 'archive' must be fetched by a person: ask for it at https://example.org/form. Put it", f"{place}."
    ):
        get(gated, tmp_path)
    place.parent.mkdir()
    place.write_bytes(DATA)
    assert get(gated, tmp_path) == place
    assert SHA in (tmp_path / "mine" / "archive.zip.sha256").read_text()
    place.write_bytes(DATA[:100])
    with pytest.raises(InputError, match=r"archive\.zip\.sha256"):
        get(gated, tmp_path)
    place.with_name("archive.zip.sha256").unlink()
    with pytest.raises(InputError, match="the catalogue says"):
        get(entry("http://127.0.0.1:9/x", SHA), tmp_path)


# --- from a mirror ------------------------------------------------------------------------------------------


def test_a_mirror_is_used_before_the_host_and_checked_against_its_own_list(make_mirror, tmp_path):
    mirror = make_mirror(f"{'0' * 64}  other.zip\n{SHA}  mine/archive.zip\n")
    # The catalogue's checksum and size are the host's; the mirror's file is re-encoded.
    mine = entry("http://127.0.0.1:9/x", "0" * 64, 17)
    path = get(mine, tmp_path / "data", mirror)
    assert path.read_bytes() == DATA
    assert left_in(tmp_path / "data") == ["archive.zip", "archive.zip.sha256"]
    get(mine, tmp_path / "data", mirror)
    get(mine, tmp_path / "data")  # without the mirror the record still tells where the file came from


@pytest.mark.parametrize(
    ("sums", "sentence"),
    [
        (f"{'1' * 64}  mine/archive.zip\n", r"SHA256SUMS.*1111"),
        (f"{SHA}  other.zip\n", r"SHA256SUMS.*'mine/archive\.zip'"),
        ("hello\n", r"SHA256SUMS.*1.*'hello'"),
    ],
)
def test_a_mirror_whose_list_disagrees_or_lacks_the_file_leaves_nothing(make_mirror, tmp_path, sums, sentence):
    with pytest.raises(InputError, match=sentence):
        get(entry(None), tmp_path / "data", make_mirror(sums))
    assert left_in(tmp_path / "data") == []


def test_a_mirror_without_a_list_is_recorded_first_and_compared_later(make_mirror, tmp_path):
    mirror = make_mirror(None)
    path = get(entry(None), tmp_path / "data", mirror)
    path.unlink()
    (mirror / "mine" / "archive.zip").write_bytes(OTHER)
    with pytest.raises(InputError, match=r"archive\.zip\.sha256"):
        get(entry(None), tmp_path / "data", mirror)
    with pytest.raises(InputError, match="the catalogue says"):
        get(entry(None, SHA), tmp_path / "data", mirror)


@pytest.mark.parametrize("name", ["mine/archive.zip", "SHA256SUMS"])
def test_a_pipe_in_a_mirror_is_refused_and_not_waited_for(make_mirror, tmp_path, name):
    mirror = make_mirror(f"{SHA}  mine/archive.zip\n")
    (mirror / name).unlink()
    os.mkfifo(mirror / name)
    with pytest.raises(InputError, match=f"{name}: this is a pipe"):
        get(entry(None), tmp_path / "data", mirror)
    assert not left_in(tmp_path / "data")


def test_a_path_that_leaves_the_data_folder_and_an_unknown_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="folder"):
        get(entry(None, path="../x"), tmp_path / "data")
    with pytest.raises(InputError, match="'pictures'"):
        fetch(entry(None), "mine", "pictures", tmp_path, None)


def test_the_configured_mirror_goes_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FIVESENTENCES_MIRROR", str(tmp_path))
    (tmp_path / "other").mkdir()
    assert find_mirror(None) == tmp_path
    assert find_mirror(tmp_path / "other") == tmp_path / "other"
    with pytest.raises(InputError, match=r"^mirror is '.*absent', which is not a folder"):
        find_mirror(tmp_path / "absent")
    monkeypatch.setenv("FIVESENTENCES_MIRROR", str(tmp_path / "absent"))
    with pytest.raises(InputError, match=r"^FIVESENTENCES_MIRROR is "):
        find_mirror(None)
    monkeypatch.delenv("FIVESENTENCES_MIRROR")
    assert find_mirror(None) is None


# --- certificates -------------------------------------------------------------------------------------------


def test_a_certificate_of_the_systems_store_is_trusted_beside_those_of_requests(host, tmp_path, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    authority = trustme.CA()  # as the proxy of a network has
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    host.socket = context.wrap_socket(host.socket, server_side=True)
    url = host.url.replace("http://", "https://")
    with pytest.raises(requests.exceptions.SSLError):
        download._get(url, 0, "", True)
    with pytest.raises(InputError, match="certificate is not trusted"):
        get(entry(url), tmp_path)
    authority.cert_pem.write_to_path(tmp_path / "store.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "store.pem"))
    assert download._get(url, 0, "", True).content == DATA
    with running_host() as plain:  # a step from https to http
        plain.files[PLACE], host.moved[PLACE] = DATA, f"{plain.url}{PLACE}"
        with pytest.raises(InputError, match="without encryption"):
            get(entry(url), tmp_path)
        assert get(entry(url, SHA), tmp_path).read_bytes() == DATA


# --- what is not the file -----------------------------------------------------------------------------------


PORTAL = b"\r\n<!DOCTYPE html>\n<html><head><title>Log in to the network</title></head></html>"
NOT_THE_FILE = {
    "a captive portal": PORTAL,
    "a login in upper case, with a mark": b"\xef\xbb\xbf<HTML><BODY>Sign in</BODY></HTML>",
    "S3": b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>',
    "an API": b'{"error": "rate limit exceeded"}',
    "another API": b'{\n  "message": "Not Found"\n}',
    "git-lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
    "nothing": b"",
}
SUFFIXES = (".zip", ".json", ".npy", ".npz", ".jar", ".pth", ".txt", ".csv", ".mat", ".safetensors", "")


@pytest.mark.slow
@pytest.mark.parametrize("content", NOT_THE_FILE.values(), ids=NOT_THE_FILE)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_not_the_file_is_never_taken_for_it(host, tmp_path, suffix, content):
    item = entry(host.url, path=f"mine/archive{suffix}")
    host.files[PLACE] = content
    with pytest.raises(InputError) as error:
        get(item, tmp_path)
    assert host.url in str(error.value) and left_in(tmp_path) == []
    target = tmp_path / "mine" / f"archive{suffix}"  # put there by a person, as saved by a browser
    target.write_bytes(content)
    with pytest.raises(InputError) as error:
        get(item, tmp_path)
    assert error.value.where == target and "delete" not in str(error.value)
    assert target.read_bytes() == content and left_in(tmp_path) == [target.name]


@pytest.mark.parametrize("content", [PORTAL, NOT_THE_FILE["S3"]])
def test_what_was_taken_for_the_file_before_is_said_and_the_cure_cures(host, tmp_path, content):
    place = tmp_path / "mine" / "archive.zip"
    place.parent.mkdir()
    place.write_bytes(content)
    record = place.with_name("archive.zip.sha256")
    record.write_text(f"# from its host\n{hashlib.sha256(content).hexdigest()}  archive.zip\n")
    with pytest.raises(InputError) as error:
        get(entry(host.url), tmp_path)
    assert error.value.where == place and error.value.cure.startswith("delete the file and run again")
    place.unlink()
    assert get(entry(host.url), tmp_path).read_bytes() == DATA


def test_a_mirror_of_web_pages_is_refused(make_mirror, tmp_path):
    mirror = make_mirror(None)
    (mirror / "mine" / "archive.zip").write_bytes(PORTAL)
    with pytest.raises(InputError) as error:
        get(entry(None), tmp_path / "data", mirror)
    assert error.value.where == mirror / "mine" / "archive.zip" and left_in(tmp_path / "data") == []


def test_of_a_file_that_a_person_put_there_no_cure_says_delete_it(host, tmp_path):
    place = tmp_path / "mine" / "archive.zip"
    place.parent.mkdir()
    place.write_bytes(OTHER)
    with pytest.raises(InputError) as error:
        get(entry(host.url, SHA), tmp_path)
    assert "delete" not in str(error.value)
    get(entry(host.url), tmp_path)  # recorded as it is
    place.write_bytes(DATA)
    with pytest.raises(InputError) as error:
        get(entry(host.url), tmp_path)
    assert "delete" not in str(error.value) and place.read_bytes() == DATA


def arrays(write, *given, **named):
    """Bytes that a function of numpy writes."""
    with io.BytesIO() as file:
        write(file, *given, **named)
        return file.getvalue()


NUMBERS = np.random.default_rng(2).normal(size=(40, 30))


def tarred(mode: str) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode=mode) as archive:
            about = tarfile.TarInfo("a.npy")
            about.size = len(npy := arrays(np.save, NUMBERS))
            archive.addfile(about, io.BytesIO(npy))
        return file.getvalue()


def of_hdf5(**options) -> bytes:
    h5py = pytest.importorskip("h5py")
    with io.BytesIO() as file:
        with h5py.File(file, "w", **options) as made:
            made["feat"] = NUMBERS
        return file.getvalue()


def picture() -> bytes:
    with io.BytesIO() as file:
        Image.fromarray((99 * NUMBERS).astype(np.uint8)).save(file, "png")
        return file.getvalue()


CUT = {
    "npy": lambda: arrays(np.save, NUMBERS),
    "npy in Fortran's order": lambda: arrays(np.save, np.asfortranarray(NUMBERS)),
    "npy of text": lambda: arrays(np.save, np.array(["a dog", "a cat"])),
    "npz": lambda: arrays(np.savez, a=NUMBERS, b=NUMBERS),
    "npz, compressed": lambda: arrays(np.savez_compressed, a=NUMBERS),
    "zip": lambda: zipped(3, 5000),
    "gzip": lambda: gzip.compress(NUMBERS.tobytes()),
    "tar.gz": lambda: tarred("w:gz"),
    "tar.bz2": lambda: tarred("w:bz2"),
    "tar.xz": lambda: tarred("w:xz"),
    "parquet": lambda: arrays(lambda file: pd.DataFrame(NUMBERS, columns=list(map(str, range(30)))).to_parquet(file)),
    "HDF5": lambda: of_hdf5(),
    "HDF5 of today": lambda: of_hdf5(libver="latest"),
    "HDF5 behind a block of the user": lambda: of_hdf5(userblock_size=1024),
    "MATLAB": lambda: arrays(lambda file: savemat(file, {"I_tr": NUMBERS, "T_tr": NUMBERS[:2]})),
    "MATLAB, compressed": lambda: arrays(lambda file: savemat(file, {"I_tr": NUMBERS}, do_compression=True)),
    "safetensors": lambda: pytest.importorskip("safetensors.numpy").save({"a": NUMBERS, "b": NUMBERS[:2]}),
    "JSON": lambda: json.dumps({"images": [{"id": number} for number in range(400)]}, indent=1).encode(),
    "JSON lines": lambda: "\n".join(json.dumps({"id": number, "x": "y" * 30}) for number in range(99)).encode(),
    "png": picture,
}
SUFFIX_OF = {"npy": ".npy", "npz": ".npz", "zip": ".zip", "gzip": ".gz", "parquet": ".parquet", "HDF5": ".h5",
             "MATLAB": ".mat", "safetensors": ".safetensors", "JSON lines": ".jsonl", "JSON": ".json", "png": ".png",
             "tar.gz": ".tar.gz", "tar.bz2": ".tar.bz2", "tar.xz": ".tar.xz"}  # fmt: skip


@pytest.mark.parametrize("kind", CUT)
def test_a_cut_file_whose_length_fits_is_refused_and_a_whole_one_taken(host, tmp_path, kind):
    whole = CUT[kind]()
    suffix = next(ending for name, ending in SUFFIX_OF.items() if kind.startswith(name))
    for name in (f"a{suffix}", "a.bin") if suffix not in (".json", ".jsonl") else (f"a{suffix}",):
        item = entry(host.url, path=f"mine/{name}")
        for length in (len(whole) // 2, len(whole) * 9 // 10, len(whole) - 9, len(whole) - 1):
            host.files[PLACE] = whole[:length]  # and so long, the host says, it is
            with pytest.raises(InputError, match="not a whole") as error:
                get(item, tmp_path)
            assert error.value.where == host.url and left_in(tmp_path) == [], length
            target = tmp_path / "mine" / name  # put there by a person
            target.write_bytes(whole[:length])
            with pytest.raises(InputError, match="not a whole"):
                get(item, tmp_path)
            assert left_in(tmp_path) == [name]
            target.unlink()
        host.files[PLACE] = whole
        assert get(item, tmp_path).read_bytes() == whole  # as the first sentence advises
        shutil.rmtree(tmp_path / "mine")


def test_a_zip_with_a_hole_is_refused(host, tmp_path):
    host.files[PLACE] = DATA[:1000] + DATA[2000:]
    with pytest.raises(InputError, match="not a whole zip"):
        get(entry(host.url), tmp_path)


@pytest.mark.parametrize("known", [False, True])
def test_a_zip_with_a_wrong_crc_is_refused_where_nothing_else_tells(host, tmp_path, known):
    host.files[PLACE] = wrong = DATA[:1000] + bytes([DATA[1000] ^ 1]) + DATA[1001:]
    md5 = hashlib.md5(wrong, usedforsecurity=False).hexdigest() if known else None
    if known:  # it is what the catalogue says, whatever it is
        assert get(entry(host.url, md5=md5), tmp_path).read_bytes() == wrong
        return
    with pytest.raises(InputError, match=r"'a'.*CRC"):
        get(entry(host.url), tmp_path)
    assert left_in(tmp_path) == []
    host.files[PLACE] = DATA
    assert get(entry(host.url), tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("read", ["unpacked", "read in place"])
def test_an_archive_that_proves_damaged_takes_its_record_with_it_and_the_cure_cures(host, tmp_path, read):
    """As of versions that recorded it unread, or of a disk that has lost a bit since: the record fits the damage."""
    place = tmp_path / "mine" / "archive.zip"
    place.parent.mkdir()
    place.write_bytes(wrong := DATA[:1000] + bytes([DATA[1000] ^ 1]) + DATA[1001:])
    record = place.with_name("archive.zip.sha256")
    record.write_text(f"# from its host\n{hashlib.sha256(wrong).hexdigest()}  archive.zip\n")
    with pytest.raises(InputError, match="damaged"):
        if read == "unpacked":
            unpack([get(entry(host.url), tmp_path)], tmp_path / "folder", CatalogueFolder(archives=["a"], holds=["a"]))
        else:
            read_entry(open_zip(get(entry(host.url), tmp_path)), "a", len(wrong))
    assert not record.exists() and place.exists()
    place.unlink()
    assert get(entry(host.url), tmp_path).read_bytes() == DATA
    unpack([place], tmp_path / "folder", CatalogueFolder(archives=["a"], holds=["a"]))


def test_a_half_file_in_a_mirror_without_a_list_is_refused(make_mirror, tmp_path):
    mirror = make_mirror(None)
    (mirror / "mine" / "archive.zip").write_bytes(DATA[: len(DATA) // 2])
    with pytest.raises(InputError, match="not a whole zip") as error:
        get(entry(None), tmp_path / "data", mirror)
    assert error.value.where == mirror / "mine" / "archive.zip" and left_in(tmp_path / "data") == []


def test_a_half_file_that_was_recorded_before_is_said_and_the_cure_cures(host, tmp_path):
    place = tmp_path / "mine" / "archive.zip"
    place.parent.mkdir()
    place.write_bytes(half := DATA[: len(DATA) // 2])
    record = place.with_name("archive.zip.sha256")
    record.write_text(f"# from its host\n{hashlib.sha256(half).hexdigest()}  archive.zip\n")
    with pytest.raises(InputError, match="not a whole zip") as error:
        get(entry(host.url), tmp_path)
    assert error.value.cure.startswith("delete the file and run again") and not record.exists()
    place.unlink()
    assert get(entry(host.url), tmp_path).read_bytes() == DATA


def test_an_archive_is_what_it_is_whatever_its_name(host, tmp_path):
    """A host that packs what it sends brings a tar.gz as a tar, which is unpacked all the same."""
    host.files[PLACE] = tarred("w")
    assert get(entry(host.url, path="mine/a.tar.gz"), tmp_path).read_bytes() == host.files[PLACE]


@pytest.mark.parametrize(
    ("suffix", "content"),
    [(".json", b' \n{"images": []}'), (".json", b"\xef\xbb\xbf[1]"), (".txt", b"a < b"), (".yaml", b"{a: 1}"),
     (".pth", b"\x80\x02ccollections"), (".pth", DATA), (".npz", DATA), (".csv", b"\xef\xbb\xbfcaption,image\n"),
     (".xml", b"<?xml version='1.0'?><a/>"), (".zip", b"PK\5\6" + bytes(18)), (".gz", gzip.compress(b"a", mtime=0)),
     (".bin", b"3000000 300\n</s> \x80\x81"), (".bin", b"\xba\x16\x4f\x2f\x0c\0\0\0"), (".mat", bytes(4))],
)  # fmt: skip
def test_files_of_the_field_are_what_their_names_say(host, tmp_path, suffix, content):
    host.files[PLACE] = content
    assert get(entry(host.url, path=f"mine/a{suffix}"), tmp_path).read_bytes() == content
    get(entry(host.url, path=f"mine/a{suffix}"), tmp_path)


# --- consents and tokens ------------------------------------------------------------------------------------

CONSENT = {"name": "mine", "terms": "https://example.org/terms"}


def test_a_host_is_asked_only_once_a_person_has_agreed_and_a_mirror_always_may(host, make_mirror, tmp_path):
    with pytest.raises(InputError) as error:
        get(entry(host.url, SHA, consent=CONSENT), tmp_path)
    assert host.requests == [] and "the owners ask for your consent" in str(error.value)
    line = str(error.value).partition("`")[2].partition("`")[0]
    mirrored = tmp_path / "mirrored"
    assert get(entry(None, SHA, consent=CONSENT), mirrored, make_mirror(None)).read_bytes() == DATA
    (tmp_path / "consents.yaml").write_text(line)
    assert get(entry(host.url, SHA, consent=CONSENT), tmp_path).read_bytes() == DATA


def test_a_token_goes_to_the_host_of_the_address_and_to_no_other(host, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "abc.DEF-123")
    with running_host() as other:
        other.files[PLACE], there = DATA, f"{other.url}{PLACE}"
        get(entry(host.url, SHA, token="MY_TOKEN"), tmp_path / "direct")
        host.moved[PLACE] = there
        get(entry(host.url, SHA, token="MY_TOKEN"), tmp_path / "moved")
        host.moved.clear()
        host.files.clear()
        get(entry(host.url, SHA, token="MY_TOKEN", more_urls=[there]), tmp_path / "second")
        assert host.tokens == ["Bearer abc.DEF-123"] * 3 and other.tokens == [None, None]


def test_a_token_never_goes_over_a_line_that_others_can_read(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "abc")
    assert download._authorization("https://example.org/x", "MY_TOKEN") == {"Authorization": "Bearer abc"}
    for url in ("http://example.org/x", "http://127.0.0.1.example.org/x", "ftp://example.org/x"):
        assert download._authorization(url, "MY_TOKEN") == {}


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("value", "said"), [(None, "MY_TOKEN is not set"), ("s3cret", "the token in MY_TOKEN was refused")]
)
def test_a_refused_token_says_which_variable_and_is_never_shown(
    host, tmp_path, monkeypatch, capfd, status, value, said
):
    host.status = status
    if value:
        monkeypatch.setenv("MY_TOKEN", value)
    with pytest.raises(InputError) as error:
        get(entry(host.url, token="MY_TOKEN"), tmp_path)
    assert f"answered {status}, and {said}; set MY_TOKEN to a token of your own" in str(error.value)
    assert error.value.where == host.url and "s3cret" not in str(error.value) + "".join(capfd.readouterr())


@pytest.mark.parametrize("value", ["s3cret\n", "s3 cret", "sécret"])
def test_a_token_that_no_header_may_hold_is_said_and_not_shown(host, tmp_path, monkeypatch, value):
    monkeypatch.setenv("MY_TOKEN", value)
    with pytest.raises(InputError, match=r"^MY_TOKEN is not a token") as error:
        get(entry(host.url, token="MY_TOKEN"), tmp_path)
    assert "cret" not in str(error.value) and host.requests == []
