"""Tables, figures and the page of a scale, made from the measured numbers and set beside the published ones.

``studies`` reads what a study asks for, ``kinds`` says what every kind of table and figure can do. ``numbers`` looks
values up, ``text`` words them, ``tables`` and ``figures`` have one file per kind, and ``site`` is the page.
"""
