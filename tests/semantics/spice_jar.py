"""SPICE's own graphs and scores, asked of the authors' classes: ``python spice_jar.py question.json answer.json``.

A process of its own, because a JVM can be started once and keeps its memory.

Question: ``{"class_path": [jars], "graphs": [[raw tuple, ...], ...], "merged": [graph, ...],
"pairs": [[test graph, reference graph], ...], "texts": [...]}``, graphs named by their place in the list.
Answer: ``{"merged": [[["word/word", ...], ...], ...], "scores": [{"All": {...}, "Object": {...}, ...}, ...],
"synsets": [[...], ...], "words": {"Cardinality": [...], "Color": [...], "Size": [...]}}``; an undefined score is None.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jpype

from fivesentences.semantics.java.jvm import start_jvm

FILTERS = {
    "Object": "objectFilter",
    "Attribute": "attributeFilter",
    "Relation": "relationFilter",
    "Cardinality": "cardinalityFilter",
    "Color": "colorFilter",
    "Size": "sizeFilter",
}
WORDS = {"Cardinality": "smallNumbers", "Color": "commonColors", "Size": "sizeAdjectives"}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    start_jvm([Path(jar) for jar in question["class_path"]], memory_mb=1500)
    java = jpype.java
    spice = jpype.JPackage("edu").anu.spice
    parse = jpype.JClass("org.json.simple.JSONValue").parse
    field = java.lang.Class.forName("edu.anu.spice.SpiceParser").getDeclaredField("synonyms")
    field.setAccessible(True)
    synonyms = field.get(spice.SpiceParser(None, 1, java.lang.Boolean(True)))  # loads no model

    graphs = []
    for raw in question.get("graphs", []):
        graph = spice.SceneGraph(synonyms, True)
        for one in parse(json.dumps(raw)):
            graph.addTuple(one)
        graphs.append(graph)

    filters = java.util.HashMap()
    for name, constant in FILTERS.items():
        filters.put(name, getattr(spice.TupleFilter, constant))
    stats = spice.SpiceStats(filters, java.lang.Boolean(False))
    for test, reference in question.get("pairs", []):
        stats.score("", graphs[test], graphs[reference], True)
    scores = [one["scores"] for one in json.loads(stats.toJSONString())] if question.get("pairs") else []

    graph = spice.SceneGraph(synonyms, True)
    synsets_of = graph.getClass().getDeclaredMethod("getSynSets", java.lang.String.class_)
    synsets_of.setAccessible(True)
    merged = [json.loads(spice.TupleSet(graphs[index]).toJSONString()) for index in question.get("merged", [])]
    return {
        "merged": [[one["tuple"] for one in tuples] for tuples in merged],
        "scores": scores,
        "synsets": [sorted(int(s) for s in synsets_of.invoke(graph, text)) for text in question.get("texts", [])],
        "words": {name: sorted(map(str, getattr(spice.TupleFilter, constant))) for name, constant in WORDS.items()},
    }


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(answer(given)), encoding="utf-8")
