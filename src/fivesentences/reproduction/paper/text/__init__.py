"""The words of tables and figures: names, labels, notes, captions, LaTeX."""
