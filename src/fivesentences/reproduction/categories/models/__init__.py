"""Methods that bring images and texts into one subspace: their settings, closed forms and networks."""
