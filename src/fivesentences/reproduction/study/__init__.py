"""Specifications of studies and runs: what is to be made, as plain data, without what makes it."""
