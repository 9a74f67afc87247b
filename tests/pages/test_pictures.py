"""Photographs of every kind of place, and those that do not fit, are damaged or unsafe."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drawn_photographs import jpeg
from fivesentences.errors import InputError
from fivesentences.pages.pictures import LONGEST_SIDES, Pictures, names_of_broken, pictures_of, thumbnails_of


def colours(pictures: Pictures, number: int = 8) -> list[int]:
    return [round(pictures.source.decoded(pictures.files[one]).getpixel((5, 5))[0] / 20) for one in range(number)]


def shard(path: str, names: list[str], content: bytes | None = None) -> Path:
    with tarfile.open(path, "w") as archive:
        for name in names:
            data = jpeg(int(Path(name).stem)) if content is None else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
            text = tarfile.TarInfo(f"{Path(name).stem}.txt")
            text.size = 5
            archive.addfile(text, io.BytesIO(b"a dog"))
    return Path(path)


@pytest.mark.parametrize("place", ["photos", "photos.zip", "list.txt"])
def test_photographs_in_order(small, place):
    found = pictures_of([Path(place)], 8)
    assert colours(found) == list(range(8))
    assert found.named_by == ("list.txt" if place == "list.txt" else "")


def test_shards_are_read_in_place_one_by_one_or_as_a_folder(small):
    Path("shards").mkdir()
    parts = [shard(f"shards/{at}.tar", [f"{number}.jpg" for number in range(4 * at, 4 * at + 4)]) for at in (0, 1)]
    assert colours(pictures_of(parts, 8)) == colours(pictures_of([Path("shards")], 8)) == list(range(8))


def test_names_decide_whatever_the_order(small):
    names = [str(number) for number in reversed(range(8))]  # without their endings
    found = pictures_of([Path("photos.zip")], 8, names, "ids.txt")
    assert colours(found) == list(reversed(range(8))) and found.named_by == "ids.txt"


def test_ids_of_coco_name_its_photographs(small):
    for number in range(8):
        Path(f"photos/{number}.jpg").rename(f"photos/COCO_val2014_{number + 391890:012}.jpg")
    found = pictures_of([Path("photos")], 8, [str(391897 - number) for number in range(8)], "ids.txt")
    assert colours(found) == list(reversed(range(8)))
    with pytest.raises(InputError, match="8 of 8 images are not found"):
        pictures_of([Path("photos")], 8, [str(391898 - number) for number in range(8)], "ids.txt")


def test_a_list_is_shown_as_it_was_written_and_read_from_its_own_folder(small, monkeypatch):
    place = small / "list.txt"
    monkeypatch.chdir(small.parent)
    found = pictures_of([place], 8)
    assert found.files[0] == "photos/0.jpg" and colours(found) == list(range(8))


def test_more_or_fewer_photographs_than_images(small):
    with pytest.raises(InputError, match=r"there are 8 photographs for 7 images .* first that is too many.*'7\.jpg'"):
        pictures_of([Path("photos")], 7)
    with pytest.raises(InputError, match=r"there are 8 photographs for 9 images .*'7\.jpg', would be that of image 7"):
        pictures_of([Path("photos")], 9)
    with pytest.raises(InputError, match="there are 8 photographs for 9 images"):
        pictures_of([Path("list.txt")], 9)


def test_a_missing_photograph_is_named_with_how_many_there_are(small):
    names = [f"{number}.jpg" for number in range(6)] + ["x.jpg", "y.jpg"]
    with pytest.raises(InputError, match=r"no photograph 'x\.jpg'.*2 of 8 images are not found.*ids\.txt names it"):
        pictures_of([Path("photos")], 8, names, "ids.txt")
    Path("photos/3.jpg").unlink()
    with pytest.raises(InputError, match=r"list\.txt.*line 4: there is no photograph '.*3\.jpg'"):
        pictures_of([Path("list.txt")], 8)


def test_names_that_collide(small):
    Path("more").mkdir()
    Path("more/3.jpg").write_bytes(jpeg(3))
    with pytest.raises(InputError, match=r"1 name belongs to several photographs: 3\.jpg.*--image-ids|3\.jpg"):
        pictures_of([Path("photos"), Path("more")], 9)
    with pytest.raises(InputError, match=r"several photographs: 1\.jpg"):
        pictures_of([shard("twice.tar", ["0.jpg", "1.jpg", "1.jpg"])], 3)


def test_photographs_of_telephones_are_counted_where_one_is_missing(small):
    Path("photos/2.jpg").rename("photos/2.HEIC")
    with pytest.raises(InputError, match=r"7 photographs for 8 images.*1 are \.heic, which is not decoded"):
        pictures_of([Path("photos")], 8)
    with pytest.raises(InputError, match=r"2\.HEIC.*photographs of its kind are not decoded"):
        pictures_of([Path("photos")], 1, ["2.HEIC"], "ids.txt")


@pytest.mark.parametrize("name", ["../8.jpg", "/8.jpg", "a/../../8.jpg", "C:/8.jpg", "..\\8.jpg"])
def test_an_entry_that_would_leave_the_folder(small, name):
    with zipfile.ZipFile("bad.zip", "w") as archive:
        archive.writestr(name, jpeg(1))
    for place in ("bad.zip", shard("bad.tar", [name], jpeg(1))):
        with pytest.raises(InputError, match="would leave the folder"):
            pictures_of([Path(place)], 1)


def test_damaged_and_packed_archives(small):
    whole = shard("whole.tar", ["0.jpg", "1.jpg"]).read_bytes()
    Path("cut.tar").write_bytes(whole[:700])
    Path("noise.tar").write_bytes(b"not a tar archive at all" * 50)
    Path("packed.tar.gz").write_bytes(b"\x1f\x8b" + b"\0" * 50)
    for name in ("cut.tar", "noise.tar"):
        with pytest.raises(InputError, match="not a complete tar archive"):
            pictures_of([Path(name)], 2)
    with pytest.raises(InputError, match=r"packed tar archive .* gunzip packed\.tar\.gz"):
        pictures_of([Path("packed.tar.gz")], 2)
    with pytest.raises(InputError, match="there is no"):
        pictures_of([Path("nowhere")], 2)


def test_what_cannot_be_decoded_is_left_out_counted_and_named(small):
    Path("photos/2.jpg").write_bytes(b"\xff\xd8 no photograph")
    Path("photos/5.jpg").write_bytes(jpeg(5)[:200])
    bomb = io.BytesIO()
    Image.new("1", (20_000, 10_000)).save(bomb, "PNG")
    Path("photos/6.jpg").write_bytes(bomb.getvalue())
    found = pictures_of([Path("photos")], 8)
    made = thumbnails_of(found, range(8))
    assert sorted(made.broken) == [2, 5, 6] and sorted(made.made) == [0, 1, 3, 4, 7]
    assert "more than 100,000,000" in made.broken[6]
    said = names_of_broken(found, made.broken)
    assert (
        said == "3 photographs cannot be decoded and are left out: 2.jpg (image 2), 5.jpg (image 5), 6.jpg (image 6)."
    )


def test_thumbnails_stay_within_their_bytes_and_keep_their_form(small):
    rng = np.random.default_rng(0)
    for number in range(8):
        Image.fromarray(rng.integers(0, 256, (300, 600, 3), dtype=np.uint8)).save(f"photos/{number}.jpg")
    found = pictures_of([Path("photos")], 8)
    large, small_ones = thumbnails_of(found, range(8)), thumbnails_of(found, range(8), most=30_000)
    assert large.longest == LONGEST_SIDES[0] > small_ones.longest and small_ones.size <= 30_000
    data, width, height = large.made[3]
    assert (width, height) == (240, 120) and Image.open(io.BytesIO(data)).size == (240, 120)


def test_thumbnails_shrink_where_the_sample_was_smaller_than_the_rest(small, monkeypatch):
    monkeypatch.setattr("fivesentences.pages.pictures.SAMPLE", 1)
    rng = np.random.default_rng(0)
    for number in range(1, 8):
        Image.fromarray(rng.integers(0, 256, (300, 300, 3), dtype=np.uint8)).save(f"photos/{number}.jpg")
    made = thumbnails_of(pictures_of([Path("photos")], 8), range(8), most=40_000)
    assert made.size <= 40_000 and len(made.made) == 8
