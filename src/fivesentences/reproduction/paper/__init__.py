"""Tables, figures and the page of a scale, made from the measured numbers and set beside the published ones.

``rendering`` lists the functions that make each kind of table and figure that a study may ask for. ``numbers`` looks
values up, ``text`` words them, ``tables`` and ``figures`` have one file per kind, and ``site`` is the page.
"""
