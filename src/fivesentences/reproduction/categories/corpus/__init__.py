"""Documents of category retrieval, and their divisions."""
