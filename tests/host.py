"""A small web server in a thread: what it serves, how it fails, and what it was asked for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answer(BaseHTTPRequestHandler):
    """Its data from the requested byte on, or its status."""

    def do_HEAD(self) -> None:
        host: Any = self.server
        if host.answers_head:
            self.do_GET()
        else:
            host.requests.append((self.path, "HEAD"))
            self.send_error(405)

    def do_GET(self) -> None:
        host: Any = self.server
        asked = self.headers.get("Range")
        host.requests.append((self.path, asked if self.command == "GET" else self.command))
        host.tokens.append(self.headers.get("Authorization"))
        if self.path in host.moved:
            self.send_response(302)
            self.send_header("Location", host.moved[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = host.files.get(self.path)
        if host.status != 200 or data is None:
            self.send_response(404 if host.status == 200 else host.status)
            for name, value in host.version.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", asked) if asked and host.ranges else None
        start, end = (int(found[1]), int(found[2] or len(data)) + 1) if found else (0, len(data))
        body = data[start:end]
        self.send_response((206 if body else 416) if found else 200)
        if found:
            span = f"{start}-{start + len(body) - 1}" if body else "*"
            self.send_header("Content-Range", f"bytes {span}/{len(data)}")
        if host.says_length:
            self.send_header("Content-Length", str(len(body)))
        for name, value in host.version.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: host.hang_up_after] if self.command == "GET" else b"")
        if host.keeps_waiting.is_set():
            self.wfile.flush()
            host.release.wait(60)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running_host() -> Iterator[Any]:
    """A host of ``files`` by path, its ``requests`` as paths and ranges, and the ``tokens`` that came with them."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        host: Any = server
        host.files, host.version, host.ranges, host.status = {}, {"ETag": '"v1"'}, True, 200
        host.moved, host.says_length, host.answers_head = {}, True, True
        host.hang_up_after, host.requests, host.tokens = None, [], []
        host.keeps_waiting, host.release = threading.Event(), threading.Event()
        host.url = f"http://127.0.0.1:{host.server_address[1]}"
        threading.Thread(target=host.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield host
        host.release.set()
        host.shutdown()
