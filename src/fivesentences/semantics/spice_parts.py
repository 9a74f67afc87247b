"""The parts that SPICE's sub-scores look at, each a choice among a graph's merged tuples.

Objects, attributes and relations are all tuples of one, two and three concepts. Colours, counts and sizes are the
attributes that are one single word of a list; an attribute merged with a synonym (``red/crimson``) is none of them.
SPICE's list of sizes is a thesaurus of a hundred words: it is asked of the authors' class at run time (extra
``java``) and not part of this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

from fivesentences.errors import InputError
from fivesentences.semantics.java.jars import java_home, wheel_jar

COLOURS = frozenset(
    ("beige", "black", "blue", "brown", "cream", "dark", "gray", "green", "grey", "light", "maroon", "orange", "pink",
     "purple", "red", "violet", "white", "yellow")
)  # fmt: skip
COUNTS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))
ARITY = {"object": 1, "attribute": 2, "relation": 3, "colour": 2, "count": 2, "size": 2}
PARTS = ("all", *ARITY)

# A process of its own: a Java machine can be started once and would stay in ours.
CHILD = """
import json, sys
from pathlib import Path
from fivesentences.semantics.java.machine import start_machine
start_machine([Path(sys.argv[1])], memory_mb=64)
import jpype
print(json.dumps(sorted(map(str, jpype.JClass("edu.anu.spice.TupleFilter").sizeAdjectives))))
"""


def words_of_part(part: str) -> frozenset[str] | None:
    """The single words that an attribute must be to belong to ``part``; None if any tuple of its arity does.

    Raises:
        InputError: If the part is ``"size"`` and Java or SPICE's jar is missing.
    """
    if part == "size":
        return size_words()
    return {"colour": COLOURS, "count": COUNTS}.get(part)


@cache
def size_words() -> frozenset[str]:
    """SPICE's words of size, from its jar in the pycocoevalcap wheel (half a second, in a child process).

    Raises:
        InputError: If the extra ``java`` is missing or Java does not answer.
    """
    jar = wheel_jar("spice/spice-1.0.jar")
    java_home()
    done = subprocess.run([sys.executable, "-c", CHILD, str(jar)], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise InputError(f"SPICE's words of size could not be read from {jar} ({reason}).")
    return frozenset(json.loads(done.stdout))
