"""Tables, figures and notes of category retrieval."""
