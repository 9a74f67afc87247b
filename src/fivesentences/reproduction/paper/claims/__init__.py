"""Claims of the papers, tested by the runs of a scale."""
