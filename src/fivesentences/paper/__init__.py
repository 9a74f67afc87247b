"""Tables, figures and the page of a scale, regenerated from the tidy table of results beside the numbers in print."""
