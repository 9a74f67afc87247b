"""The numbers that tables and figures show: those of runs, of judges and of phi, and the published ones."""
