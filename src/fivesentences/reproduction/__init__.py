"""What regenerates the tables and figures of the papers, upon the scoring library and the training of models."""
