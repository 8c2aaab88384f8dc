import gzip
import json
import os

import pytest
from django.urls import reverse

from leaderboards.turns import MOST_AT_ONCE
from ratings.download import path_of, write_download
from ratings.replaying import replay_download
from tests.leaderboards.html import parse
from tests.ratings.builders import duel, record

URL = "/downloads/brisca.jsonl.gz"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DOWNLOADS_FOLDER = tmp_path / "downloads"
    return settings.DOWNLOADS_FOLDER


@pytest.fixture
def written(brisca, source):
    record(duel("ana", "pepe"), source=source)
    write_download(brisca)
    return brisca


def finish(response):
    """Reads the whole answer, which closes the file; closing it would close the database too."""
    return b"".join(response.streaming_content)


def test_download_is_the_file_that_was_written(client, written, tmp_path):
    response = client.get(URL)

    content = finish(response)
    assert response["Content-Type"] == "application/gzip"
    assert response["Content-Disposition"] == 'attachment; filename="brisca.jsonl.gz"'
    assert response["Content-Length"] == str(len(content))
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "Content-Encoding" not in response
    assert json.loads(gzip.decompress(content).splitlines()[0])["game"] == "brisca"
    copy = tmp_path / "copy.jsonl.gz"
    copy.write_bytes(content)
    assert replay_download(copy).count == 0


def test_unchanged_file_is_not_sent_again(client, written):
    first = client.get(URL)
    finish(first)

    again = client.get(URL, headers={"If-None-Match": first["ETag"]})
    write_download(written)
    os.utime(path_of(written), (1, 1))
    other = client.get(URL, headers={"If-None-Match": first["ETag"]})
    finish(other)

    assert (again.status_code, again.content) == (304, b"")
    assert again["Cache-Control"] == "public, max-age=3600"
    assert other.status_code == 200
    assert other["Last-Modified"] == "Thu, 01 Jan 1970 00:00:01 GMT"


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "/downloads/mus.jsonl.gz",
        "/downloads/..%2f..%2fsecret-key.jsonl.gz",
        "/downloads/brisca.jsonl.gz.x.unfinished",
        "/downloads/",
    ],
)
def test_what_was_never_written_is_not_found(client, brisca, url):
    assert client.get(url).status_code == 404


def test_only_so_many_read_at_once_and_places_become_free(client, written):
    """A slow line keeps a thread: those of the pages must be left."""
    reading = [client.get(URL) for _ in range(MOST_AT_ONCE)]

    refused = client.get(URL)
    for response in reading:
        finish(response)
    later = [client.get(URL) for _ in range(MOST_AT_ONCE)]
    for response in later:
        finish(response)

    assert (refused.status_code, refused["Retry-After"]) == (503, "60")
    assert "no-store" in refused["Cache-Control"]
    assert {response.status_code for response in reading + later} == {200}


def test_file_that_vanishes_leaves_its_place(client, written, monkeypatch):
    def vanished(path):
        raise FileNotFoundError(path)

    with monkeypatch.context() as patch:
        patch.setattr("leaderboards.views.download.FileInItsPlace", vanished)
        for _ in range(MOST_AT_ONCE + 1):
            with pytest.raises(FileNotFoundError):
                client.get(URL)

    response = client.get(URL)
    finish(response)
    assert response.status_code == 200


def test_download_sets_no_cookie_and_is_one_address_in_all_languages(client, written):
    response = client.get(URL, headers={"Accept-Language": "es"})
    finish(response)

    assert response.cookies == {}
    assert reverse("download", args=["brisca"]) == URL
    assert client.get(f"/es{URL}").status_code == 404


def test_verify_page_links_to_what_there_is(client, db):
    before = client.get("/verify/")

    assert "The first files will be written tonight." in parse(before).text
    assert parse(before).all("a", download="") == []


def test_verify_page_follows_a_new_file(client, written):
    page = client.get("/verify/")
    [link] = parse(page).all("a", download="")
    os.utime(path_of(written), (1, 1))

    after = client.get("/verify/", headers={"If-None-Match": page["ETag"]})

    assert (link.text, link.attributes["href"]) == ("brisca.jsonl.gz", URL)
    assert after.status_code == 200
    assert "1 Jan 1970, 01:00 CET" in parse(after).text
