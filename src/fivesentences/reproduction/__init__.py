"""What regenerates the tables and figures of the papers; neither scoring nor training knows of it."""
