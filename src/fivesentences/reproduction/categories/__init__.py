"""Category retrieval, the system of the fourth paper: documents of an image and a text, in one folder."""
