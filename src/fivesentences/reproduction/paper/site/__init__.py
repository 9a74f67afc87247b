"""The page of a scale, with every table and figure of its studies."""
