"""Runs of category retrieval: fitting every method, several runs of one process, and what is finished."""
