"""Category retrieval, the system of the fourth paper: documents of an image and a text, and what is made of them."""
