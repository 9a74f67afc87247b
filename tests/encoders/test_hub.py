"""Repositories are fetched from a server that speaks the Hub's protocol, at one commit, without Python and pickles."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
CODE = """
import sys
from fivesentences.encoders.sources import find_source
found = find_source("tiny/clip", sys.argv[1] if sys.argv[1] else None, ((sys.argv[2],), ("pytorch_model.bin",)))
print(found.revision, found.facts()["weights_sha256"], *sorted(path.name for path in found.folder.iterdir()))
"""


class Hub:
    """A server of one repository, ``tiny/clip``."""

    def __init__(self, files: dict[str, dict[str, bytes]]):
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(with_body=False)

            def do_GET(self) -> None:
                self.answer(with_body=True)

            def answer(self, with_body: bool) -> None:
                path = self.path.split("?")[0]
                hub.asked.append(path)
                parts = path.strip("/").split("/")
                if parts[:4] == ["api", "models", "tiny", "clip"]:
                    revision = parts[5] if len(parts) > 5 else "main"
                    commit = COMMITS.get(revision, revision)
                    if commit not in files:
                        return self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, with_body)
                    if parts[4:5] == ["tree"]:
                        tree = [
                            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                            for name, data in files[commit].items()
                        ]
                        return self.send(
                            200, json.dumps(tree).encode(), {"Content-Type": "application/json"}, with_body
                        )
                    content = [{"rfilename": name} for name in files[commit]]
                    body = {"id": "tiny/clip", "sha": commit, "siblings": content, "private": False}
                    return self.send(200, json.dumps(body).encode(), {"Content-Type": "application/json"}, with_body)
                if parts[:3] == ["tiny", "clip", "resolve"] and parts[4] in files.get(parts[3], {}):
                    data = files[parts[3]][parts[4]]
                    about = {"X-Repo-Commit": parts[3], "ETag": f'"{hashlib.sha256(data).hexdigest()}"'}
                    return self.send(200, data, about, with_body)
                return self.send(404, b"", {"X-Error-Code": "EntryNotFound"}, with_body)

            def send(self, code: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
                self.send_response(code)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if with_body:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


def repository(weights: bytes) -> dict[str, bytes]:
    return {
        "config.json": b"{}", "model.safetensors": weights, "pytorch_model.bin": b"pickle", "evil.py": b"raise",
        "tokenizer.json": b"{}",
    }  # fmt: skip


@pytest.fixture
def hub() -> Iterator[Hub]:
    one = Hub({COMMITS["main"]: repository(b"new"), COMMITS["v1"]: repository(b"old")})
    yield one
    one.server.shutdown()
    one.server.server_close()


def find(hub: Hub, home: Path, revision: str = "", weights: str = "model.safetensors") -> tuple[list[str], str]:
    """Where the Hub is, is read when its library is imported, so each call is a process of its own."""
    environment = {"HF_HOME": str(home), "HF_ENDPOINT": hub.url, "PATH": "", "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, revision, weights], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.split(), done.stderr


@pytest.mark.slow
def test_a_revision_is_fetched_and_recorded_and_only_what_is_needed(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    for revision, weights in (("", b"new"), ("v1", b"old"), (COMMITS["v1"], b"old")):
        found, error = find(hub, tmp_path, revision)
        commit = COMMITS["main"] if not revision else COMMITS["v1"]
        assert found[:2] == [commit, hashlib.sha256(weights).hexdigest()], error
        assert found[2:] == ["config.json", "model.safetensors", "tokenizer.json"]
    assert not any(path.endswith((".py", ".bin")) for path in hub.asked)


def test_pickled_weights_are_fetched_only_where_there_are_no_others(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    found, error = find(hub, tmp_path, weights="nothing.safetensors")
    assert found[2:] == ["config.json", "pytorch_model.bin", "tokenizer.json"], error


def test_without_a_connection_what_was_fetched_before_will_do(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    before, _ = find(hub, tmp_path)
    hub.server.shutdown()
    hub.server.server_close()
    found, error = find(hub, tmp_path)
    assert found == before != [], error


def test_an_unknown_revision_is_one_sentence(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    found, error = find(hub, tmp_path, "v9")
    assert not found and "InputError: tiny/clip: the model could not be fetched" in error
