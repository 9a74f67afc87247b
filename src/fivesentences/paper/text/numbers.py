"""Numbers as a reader sees them, in tables and figures."""

from __future__ import annotations

MINUS, UNDEFINED = "\N{MINUS SIGN}", "\N{EN DASH}"


def number(value: float | None, decimals: int) -> str:
    """Format a number; empty for None."""
    return "" if value is None else f"{value:z.{decimals}f}".replace("-", MINUS)


def signed(value: float | None, decimals: int) -> str:
    """Format a difference with its sign; empty for None."""
    return "" if value is None else f"{value:+.{decimals}f}".replace("-", MINUS)
