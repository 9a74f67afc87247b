"""Pages and figures on which a model can be seen: what it retrieves for which queries, beside photographs."""
