"""What the papers state, tested by the runs of a scale."""
