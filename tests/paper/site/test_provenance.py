"""The page of provenance says what the manifest says, and in what that differs from the papers."""

from __future__ import annotations

import re
from html import unescape

import pytest

from fivesentences.paper.manifest import settings_of
from fivesentences.paper.site.provenance import write_provenance

from .conftest import DIGEST


@pytest.fixture
def page_of(everything, site, printed, tmp_path):
    def made(manifest):
        plan = everything.plan
        return write_provenance(site, plan, plan.scale.scale, manifest, printed, tmp_path).read_text(encoding="utf-8")

    return made


def rows_of(text, anchor):
    """Cells of the table below a heading, as text."""
    section = text.split(f'<h2 id="{anchor}">')[1].split("</section>")[0]
    rows = re.findall(r"<tr x-show[^>]*>(.*?)</tr>", section, flags=re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows)
    return [tuple(unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in row) for row in cells]


def test_code_machine_and_time_stand_first(page_of, manifest):
    text = page_of(manifest)
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert facts["Code"] == "revision abababababab, with changes in 1 file: config/demo.yaml"
    assert "Made-up CPU, 2 cores, 24 GB, no GPU, Linux" in facts["Machine"]
    assert facts["Runs"] == "4 in 2 settings" and facts["Time"] == "2.1 h, all jobs together whose time is known"
    assert facts["Versions"] == "fivesentences 0.1.0, Python 3.11.7"


def test_every_file_is_listed_with_its_checksum(page_of, manifest):
    files = {row[0]: row[2] for row in rows_of(page_of(manifest), "files")}
    expected = {**manifest["inputs"], **manifest["made"], **manifest["numbers"]}
    assert files == {path: digest or "" for path, digest in expected.items()}


def test_downloads_have_version_licence_source_and_the_checksum_of_what_was_read(everything, page_of, manifest):
    file = everything.plan.catalogue.datasets["flickr8k"].files["text"]
    assert rows_of(page_of(manifest), "downloads") == [("flickr8k", file.version, file.licence, file.url, DIGEST)]


def test_rules_and_training_jobs_have_time_and_memory(page_of, manifest):
    text = page_of(manifest)
    assert rows_of(text, "rules") == [("train", "2", "2.1 h", "812"), ("evaluate", "1", "3 s", "")]
    assert rows_of(text, "training-jobs") == [("train", "scenes/vsepp/1", "1.9 h", "812")]
    assert rows_of(text, "phi")[0][1:] == ("whitespace", "", "", "1,000 × 200")


def test_what_differs_from_the_papers_is_named(page_of, manifest):
    text = page_of(manifest)
    data = {row[:4] for row in rows_of(text, "papers")}
    assert ("Flickr30K", "dataset", "Flickr30K", "Scenes") in data
    assert ("Flickr30K", "phi", "SPICE", "CIDEr") in data
    settings = {row[0]: row[1:] for row in rows_of(text, "settings-of-papers")}
    assert settings["training/epochs"] == ("30", "0.1: 5, 0.25: 4, 1.0: 3")
    assert settings["features/extractor"] == ("vgg19", "grid_descriptors")
    assert "training/gpu" not in settings and "training/gradient_clip" not in settings


def test_the_papers_own_settings_do_not_differ_from_themselves(page_of, manifest, printed):
    text = page_of(manifest | {"settings": settings_of(printed)})
    assert 'id="settings-of-papers"' not in text


def test_an_early_manifest_without_newer_parts_is_shown(page_of, manifest):
    early = {part: content for part, content in manifest.items() if part not in ("phi", "trained", "git", "hardware")}
    text = page_of(early)
    assert "not from a git checkout" in text and 'id="training-jobs"' not in text and 'id="phi"' not in text


def test_names_of_files_are_text(page_of, manifest):
    assert "<b>tiny" not in page_of(manifest)
