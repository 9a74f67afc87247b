"""Specifications of studies: what is to be made, as plain data, without what makes it."""
