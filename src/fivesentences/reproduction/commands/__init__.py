"""Commands of training, of features and of papers, one or one group per module."""
