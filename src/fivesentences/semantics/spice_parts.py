"""The parts of SPICE that its sub-scores are restricted to, each a selection of a graph's merged tuples.

Objects, attributes and relations are all tuples of one, two and three concepts. Colours, counts and sizes are the
attributes that consist of a single word from a list; an attribute merged with a synonym (``red/crimson``) is not one.
SPICE's list of sizes is a thesaurus of a hundred words: it is read from the authors' class at run time (extra
``java``) and is not part of this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import check_java, wheel_jar

COLOURS = frozenset(
    ("beige", "black", "blue", "brown", "cream", "dark", "gray", "green", "grey", "light", "maroon", "orange", "pink",
     "purple", "red", "violet", "white", "yellow")
)  # fmt: skip
COUNTS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))
ARITY = {"object": 1, "attribute": 2, "relation": 3, "colour": 2, "count": 2, "size": 2}
PARTS = ("all", *ARITY)

# A process of its own: a JVM can be started only once and would stay in this process.
CHILD = """
import json, sys
from pathlib import Path
from fivesentences.semantics.java.jvm import start_jvm
start_jvm([Path(sys.argv[1])], memory_mb=64)
import jpype
print(json.dumps(sorted(map(str, jpype.JClass("edu.anu.spice.TupleFilter").sizeAdjectives))))
"""


def words_of_part(part: str) -> frozenset[str] | None:
    """Return the words that an attribute of ``part`` may consist of; None if every tuple of its arity belongs to it.

    Raises:
        InputError: If the part is ``"size"`` and Java or SPICE's jar is missing.
    """
    if part == "size":
        return size_words()
    return {"colour": COLOURS, "count": COUNTS}.get(part)


@cache
def size_words() -> frozenset[str]:
    """Read SPICE's list of size words from its jar in the pycocoevalcap wheel (half a second, in a child process).

    Raises:
        InputError: If the extra ``java`` is not installed or Java fails.
    """
    check_java()
    jar = wheel_jar("spice/spice-1.0.jar")
    done = subprocess.run([sys.executable, "-c", CHILD, str(jar)], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise InputError(f"{jar}: SPICE's size words could not be read ({reason}).")
    return frozenset(json.loads(done.stdout))
