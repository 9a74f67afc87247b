"""A real SSH server on the loopback, as whoever runs the tests, for one test session."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MISSING = "needs sshd and ssh-keygen: apt-get install openssh-server openssh-client"


@dataclass(frozen=True)
class SshServer:
    """Where it listens, and the key that it lets in."""

    port: int
    user: str
    key: Path


def programs() -> tuple[str, str] | None:
    """Paths of sshd, which must be absolute, and ssh-keygen; None if one is missing."""
    sshd = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/local/sbin")
    keygen = shutil.which("ssh-keygen")
    return (sshd, keygen) if sshd and keygen else None


@contextlib.contextmanager
def running_sshd(folder: Path) -> Iterator[SshServer]:
    """Start a server with keys of its own in a folder; it ends with the block."""
    found = programs()
    assert found is not None, MISSING
    sshd, keygen = found
    for name in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": folder / "pid",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "Subsystem": "sftp internal-sftp",
    }
    (folder / "config").write_text("".join(f"{key} {value}\n" for key, value in options.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)  # where root's sshd locks unprivileged children up
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([sshd, "-D", "-e", "-f", str(folder / "config")], stderr=log)
        try:
            _wait_for(port, server, folder / "log")
            yield SshServer(port, getpass.getuser(), folder / "user")
        finally:
            server.terminate()
            server.wait(timeout=20)


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(100):
        assert server.poll() is None, log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError(f"sshd does not listen: {log.read_text()}")
