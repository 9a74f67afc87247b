"""What a scale says: which dataset plays which role, with which features, how long to train and how many seeds."""
