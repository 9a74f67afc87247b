"""Photographs squashed once more, as a mirror: how much do results hang on the copy that they are of?

    python benchmarks/squash_photographs.py data/flickr8k/Flickr8k_Dataset.zip mirror/flickr8k/Flickr8k_Dataset.zip
    cp data/flickr8k/Flickr8k_text.zip mirror/flickr8k/

Each photograph keeps its height, gets three quarters of its width, stands between grey bars as wide as before, and is
packed as JPEG of quality 80, as the copy of Flickr8k that the kept numbers are of. docs/flickr8k.md says what follows.
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

from PIL import Image

from fivesentences.console import Bar
from fivesentences.corpus.archives import open_zip, photographs_in
from fivesentences.storage import replacing

SHARE, GREY, QUALITY = 0.75, (124, 116, 104), 80  # of the width; ImageNet's mean; of JPEG


def squashed(photograph: bytes) -> bytes:
    """Return a photograph between bars, as JPEG."""
    with Image.open(io.BytesIO(photograph)) as opened:
        image = opened.convert("RGB")
    narrow = image.resize((round(SHARE * image.width), image.height), Image.Resampling.BICUBIC)
    framed = Image.new("RGB", image.size, GREY)
    framed.paste(narrow, ((image.width - narrow.width) // 2, 0))
    with io.BytesIO() as out:
        framed.save(out, "JPEG", quality=QUALITY)
        return out.getvalue()


def main(source: Path, out: Path) -> None:
    """Write the archive."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with open_zip(source) as archive, replacing(out) as temporary, zipfile.ZipFile(temporary, "w") as packed:
        names = photographs_in(archive)
        with Bar("squash photographs", len(names)) as bar:
            for name in names:
                packed.writestr(zipfile.ZipInfo(name), squashed(archive.read(name)))
                bar.advance(1)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
