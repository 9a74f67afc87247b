"""Facts follow from what a scene holds."""

from __future__ import annotations

PERSON = {"boy": "person", "girl": "person", "man": "person", "woman": "person"}
ANIMALS = {"dog", "cat", "horse", "cow", "sheep", "camel", "bird", "duck"}


def test_facts_follow_from_what_a_scene_holds(facts):
    # Written from the documentation, without the package's tables: objects, colours, numbers, actions, relations.
    for line in facts:
        stated = {tuple(fact) for fact in line["facts"]}
        expected: set[tuple[str, ...]] = set()
        for thing in line["things"]:
            kind = thing["kind"]
            expected.add((kind,))
            if kind in PERSON or kind == "dog":
                expected.add((PERSON.get(kind, "animal"),))
            if thing["action"]:
                expected.add((kind, thing["action"]))
            if thing["colour"]:
                expected.add(("shirt" if kind in PERSON else kind, thing["colour"]))
            if thing["count"] == 2:
                expected.add((kind, "two"))
        for subject, verb, other in line["relations"]:
            first, second = line["things"][subject]["kind"], line["things"][other]["kind"]
            expected |= {(first, second, verb), (first, second, "near"), (second, first, "near")}
        assert expected <= stated
        kinds = {thing["kind"] for thing in line["things"]}
        assert ("cat",) not in stated or "cat" in kinds
        assert ("animal",) not in stated or kinds & ANIMALS
