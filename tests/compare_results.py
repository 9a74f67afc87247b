"""Compare two tidy tables of results value by value.

    uv run python tests/compare_results.py before.parquet results/evaluation/demo.parquet

A refactoring must leave every number of every run as it was. Rows are matched by everything but their value; rows that
only the second table has are counted, not refused. Ends with exit code 1 if a row is missing or a value differs.
"""

from __future__ import annotations

import sys

import pandas as pd

SHOWN = 20


def compare(before: pd.DataFrame, after: pd.DataFrame) -> tuple[str, bool]:
    """What differs, in words, and whether every value of ``before`` is in ``after``, bit by bit."""
    key = [column for column in before.columns if column != "value"]
    if missing := [column for column in key if column not in after.columns]:
        return f"the second table has no column {missing[0]}", False
    old, new = (
        frame.assign(**{name: frame[name].astype(str) for name in key}).set_index(key) for frame in (before, after)
    )
    for name, frame in (("first", old), ("second", new)):
        if not frame.index.is_unique:
            return f"the {name} table has two rows for {frame.index[frame.index.duplicated()][0]}", False
    both = old["value"].to_frame("before").join(new["value"].to_frame("after"), how="outer")
    lost = both[both["after"].isna() & both["before"].notna()]
    shared = both.dropna()
    differing = shared[shared["before"] != shared["after"]]
    runs = before["run"].nunique()
    lines = [
        f"{len(old):,} values of {runs} runs in the first table: {len(shared) - len(differing):,} equal, "
        f"{len(differing):,} different, {len(lost):,} missing; {len(new) - len(shared):,} values are new in the second."
    ]
    if len(differing):
        gap = (differing["before"] - differing["after"]).abs()
        lines.append(f"largest difference: {gap.max():g}")
    for index, row in pd.concat([differing, lost]).head(SHOWN).iterrows():
        lines.append(
            f"  {' '.join(part for part in index if part not in ('', 'nan'))}: {row['before']} -> {row['after']}"
        )
    return "\n".join(lines), not len(differing) and not len(lost)


if __name__ == "__main__":
    words, same = compare(*(pd.read_parquet(path) for path in sys.argv[1:3]))
    print(words)
    sys.exit(not same)
