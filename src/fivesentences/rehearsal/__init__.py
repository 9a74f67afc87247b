"""A dress rehearsal of the papers' scale: upstream's files in their original layouts, small, from drawn scenes.

``upstream.write_upstream`` writes a folder with ``mirror`` (what is downloaded, with its ``SHA256SUMS``) and ``data``
(what a person unpacks). With it ``config/paper.yaml`` runs whole on a laptop; ``config/rehearsal.yaml`` says how it is
smaller.
"""
