"""The words that tables and figures share: names, notes, captions, LaTeX."""
