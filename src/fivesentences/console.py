"""Progress bars, log files, and errors as one sentence."""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeVar

from fivesentences.errors import InputError, Stopped, shortage, visible

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
SECONDS_BETWEEN_LOG_LINES = 10.0
# What commands a terminal, but for ends of lines and tabs; on a terminal, colours are let through.
_COMMANDS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BUT_COLOURS = re.compile(rf"(?!\x1b\[[\d;]*m){_COMMANDS.pattern}")


class Visible:
    """A stream of text that shows control characters as ``visible`` does, whoever writes them.

    Names of files, warnings and reports of libraries may hold escape sequences, which would command the terminal.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream, self._hidden = stream, _BUT_COLOURS if stream.isatty() else _COMMANDS

    def write(self, text: str) -> int:
        """Write a text."""
        return self.stream.write(self._hidden.sub(lambda found: visible(found[0]), text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Bar:
    """A progress bar on a terminal; elsewhere (in a log file or a pipe) a plain line every few seconds.

    Use as a context manager: ``with Bar("extract features", total=8091) as bar: bar.advance(64, note="...")``.

    Args:
        description: Text before the bar.
        total: Number of items; 1 shows a spinner.
        done: Number of items that were done earlier.
        delay: Seconds before anything is shown, so that quick work shows nothing.
        in_logs: True to print lines where there is no terminal; if False, the bar also disappears at its end.
    """

    _shown: ClassVar[list[Bar]] = []  # the innermost last, which alone may move the cursor

    def __init__(
        self, description: str, total: int, done: int = 0, *, delay: float = 0.0, in_logs: bool = True
    ) -> None:
        self.description, self.total, self.done = visible(description), total, done
        self._delay, self._in_logs = delay, in_logs
        self._started, self._printed = time.monotonic(), float("-inf")
        self._rich: Progress | None = None

    def __enter__(self) -> Bar:
        if not self._delay and sys.stderr.isatty():
            self._show()
        return self

    def _show(self) -> Progress:
        # Imported only where it is shown: that takes a tenth of a second at the start of every job.
        from rich import progress
        from rich.console import Console

        numbers = (progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
        self._rich = progress.Progress(
            progress.TextColumn("{task.description}"),
            *((progress.SpinnerColumn(),) if self.total == 1 else numbers),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[note]}"),
            console=Console(file=getattr(sys.stderr, "stream", sys.stderr)),  # it moves the cursor
            transient=not self._in_logs,
        )
        if Bar._shown and (outer := Bar._shown[-1]._rich) is not None:
            outer.stop()
        Bar._shown.append(self)
        self._rich.start()
        self._task = self._rich.add_task(
            self.description, total=None if self.total == 1 else self.total, completed=self.done, note=""
        )
        return self._rich

    def advance(self, count: int = 1, note: str = "") -> None:
        """Add ``count`` to what is done and show ``note`` (such as a loss) after the bar."""
        note = visible(note)
        self.done += count
        now = time.monotonic()
        elapsed = now - self._started
        if elapsed < self._delay:
            return
        if sys.stderr.isatty():
            (self._rich or self._show()).update(self._task, completed=self.done, note=note)
        elif self._in_logs and (now - self._printed >= SECONDS_BETWEEN_LOG_LINES or self.done == self.total):
            self._printed = now
            line = f"{self.description}: {self.done}/{self.total} after {elapsed:.0f} s"
            print(f"{line}  {note}".rstrip(), file=sys.stderr, flush=True)

    def __exit__(self, *exception: object) -> None:
        if self._rich is not None:
            self._rich.stop()
            Bar._shown.remove(self)
            if Bar._shown and (outer := Bar._shown[-1]._rich) is not None:
                outer.start()


@contextmanager
def working(what: str, steps: int = 1) -> Iterator[Callable[[], None]]:
    """Show a bar on a terminal while something runs (a spinner if it has one step); print nothing elsewhere.

    Yields:
        A function to call after each step.
    """
    with Bar(what, max(steps, 1), in_logs=False) as bar:
        yield bar.advance


def track(items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
    """Yield ``items`` while a ``Bar`` counts them."""
    with Bar(description, total) as bar:
        for item in items:
            yield item
            bar.advance()


@contextmanager
def log_to(path: str | Path) -> Iterator[None]:
    """Send everything that the block prints to ``path``; ``InputError`` and ``Stopped`` end the process.

    Their sentence goes to the log and to the terminal, so that nobody needs to open the log to read it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal, printed = sys.stderr, sys.stdout
    with path.open("w", encoding="utf-8", errors="backslashreplace", buffering=1) as file:
        log: Any = Visible(file)
        sys.stderr = sys.stdout = log
        handler = logging.StreamHandler(log)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
        logging.getLogger().addHandler(handler)
        try:
            yield
        except Stopped as stopped:  # Python prints it on the terminal
            print(stopped, file=log)
            raise
        except Exception as error:
            if (said := error if isinstance(error, InputError) else shortage(error)) is None:
                traceback.print_exc(file=log)
                raise
            print(f"Error: {said}", file=log)
            print(f"Error: {said}", file=terminal, flush=True)
            raise SystemExit(1) from None
        finally:
            logging.getLogger().removeHandler(handler)
            sys.stderr, sys.stdout = terminal, printed
