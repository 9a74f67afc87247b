"""What a machine says of itself."""

from __future__ import annotations

import pytest

from fivesentences import machine


@pytest.mark.parametrize(
    ("cpuinfo", "begins"),
    [("processor : 0\nvendor_id\t: AuthenticAMD\nmodel : 1\n", "AuthenticAMD "), ("", "aarch64 ")],
)
def test_kinds_of_processors_differ_by_vendor_and_instructions(monkeypatch, cpuinfo, begins):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(machine, "_text", lambda path: cpuinfo)
    monkeypatch.setattr(machine.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert machine.cpu_kind() == f"{begins}AVX2"
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    assert machine.cpu_kind() == f"{begins}AVX512"
