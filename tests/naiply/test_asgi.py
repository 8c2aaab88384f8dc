"""The bounds around the pages, over real connections. The pages here are a small echo."""

import contextlib
import http.client
import json
import socket
import threading
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from naiply.asgi import PAGE_BODY_BYTES, UPLOAD_BODY_BYTES, UPLOADS_AT_ONCE, Site
from tests.server import serve

LARGE_ANSWER = b"x" * 20_000_000


def echo(environ, start_response):
    """Answers what it was asked, as JSON; /large answers more than a connection can buffer."""
    start_response("200 OK", [("Content-Type", "application/json")])
    if environ["PATH_INFO"] == "/large":
        return [LARGE_ANSWER[start : start + 100_000] for start in range(0, 20_000_000, 100_000)]
    length = int(environ.get("CONTENT_LENGTH") or 0)
    seen = {
        "length": length,
        "body": len(environ["wsgi.input"].read(length)),
        "query": environ["QUERY_STRING"],
        "headers": {name: value for name, value in environ.items() if name.startswith("HTTP_")},
    }
    return [json.dumps(seen).encode()]


@pytest.fixture
def address():
    with serve(Site(echo, threads=8)) as address:
        yield address


@contextmanager
def connected(address):
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        yield connection


def ask(address, method, path, body=None, headers=None, **kwargs):
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    try:
        connection.request(method, path, body, headers or {}, **kwargs)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def answer_to(connection, request):
    """What comes back for bytes sent as they are."""
    connection.sendall(request)
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response, response.read()


def test_health_is_answered_whatever_the_host(address):
    response, body = ask(address, "GET", "/healthz", headers={"Host": "evil.example.com"})

    assert (response.status, body) == (200, b"ok\n")
    assert response.headers["Cache-Control"] == "no-store"


def test_health_is_answered_to_head_without_a_body(address):
    response, body = ask(address, "HEAD", "/healthz")

    assert (response.status, body) == (200, b"")


def test_health_refuses_other_methods(address):
    response, _ = ask(address, "POST", "/healthz", b"x")

    assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("size", [0, 1, PAGE_BODY_BYTES])
def test_body_within_the_limit_comes_whole(address, size):
    _, body = ask(address, "POST", "/", b"x" * size)

    assert json.loads(body)["body"] == size


def test_chunked_body_comes_whole_and_with_a_length(address):
    _, body = ask(address, "POST", "/", iter([b"abc", b"defg"]), encode_chunked=True)

    seen = json.loads(body)
    assert (seen["length"], seen["body"]) == (7, 7)
    assert "HTTP_TRANSFER_ENCODING" not in seen["headers"]


def test_body_a_little_over_the_limit_is_413_and_the_answer_is_read(address):
    response, body = ask(address, "POST", "/", b"x" * (PAGE_BODY_BYTES + 1))

    assert response.status == 413
    assert body == b"The body is too large: 262144 bytes are accepted here.\n"
    assert response.headers["Connection"] == "close"


def test_chunked_body_over_the_limit_is_413(address):
    parts = iter([b"x" * 60_000] * 5)

    response, _ = ask(address, "POST", "/", parts, encode_chunked=True)

    assert response.status == 413


def test_refusal_of_one_who_asks_first_costs_no_transfer(address):
    request = (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n"
    )

    with connected(address) as connection:
        response, _ = answer_to(connection, request)

    assert response.status == 413


def test_endless_body_is_cut_off(address):
    sent = 0
    with connected(address) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while sent < 100_000_000:
                connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000

    assert sent < 20_000_000  # what two sides' buffers hold comes on top of our limits


def test_body_that_does_not_arrive_is_408():
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"

    with serve(Site(echo, threads=1, body_seconds=0.2)) as address, connected(address) as sender:
        response, body = answer_to(sender, request)

    assert response.status == 408
    assert body == b"The body did not arrive within 0.2 seconds.\n"


def test_unfinished_bodies_do_not_stop_the_site(address):
    with ExitStack() as stack:
        for _ in range(20):
            sender = stack.enter_context(connected(address))
            sender.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\nabc")

        response, _ = ask(address, "GET", "/")

    assert response.status == 200


def test_health_is_answered_while_every_thread_is_busy():
    release = threading.Event()
    entered = threading.Barrier(3)

    def stuck(environ, start_response):
        entered.wait(timeout=10)
        release.wait(timeout=10)
        return echo(environ, start_response)

    with serve(Site(stuck, threads=2)) as address, ExitStack() as stack:
        for _ in range(2):
            reader = stack.enter_context(connected(address))
            reader.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        entered.wait(timeout=10)

        response, _ = ask(address, "GET", "/healthz")
        release.set()

    assert response.status == 200


def test_reader_who_does_not_read_keeps_no_thread():
    with serve(Site(echo, threads=1)) as address, connected(address) as lazy:
        lazy.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert lazy.recv(1) == b"H"

        response, _ = ask(address, "GET", "/")

    assert response.status == 200


@pytest.mark.parametrize("path", ["/admin/ratings/import/", "/es/admin/ratings/import/"])
def test_staff_upload_may_be_large(address, path):
    _, body = ask(address, "POST", path, b"x" * 3_000_000)

    assert json.loads(body)["body"] == 3_000_000


@pytest.mark.parametrize("path", ["/fr/admin/", "/administrator/", "/x/admin/", "/es/", "/Admin/"])
def test_only_staff_uploads_may_be_large(address, path):
    response, _ = ask(address, "POST", path, b"x" * 300_000)

    assert response.status == 413


def test_staff_upload_over_the_limit_is_413(address):
    request = f"POST /admin/ HTTP/1.1\r\nHost: x\r\nContent-Length: {UPLOAD_BODY_BYTES + 1}\r\n"

    with connected(address) as connection:
        response, body = answer_to(connection, request.encode() + b"Expect: 100-continue\r\n\r\n")

    assert response.status == 413
    assert b"20971520 bytes" in body


def test_one_upload_too_many_at_once_is_503(address):
    request = b"POST /admin/ HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n"
    with ExitStack() as stack:
        for _ in range(UPLOADS_AT_ONCE):
            sender = stack.enter_context(connected(address))
            # The interim answer shows that the body is being waited for.
            sender.sendall(request + b"Expect: 100-continue\r\n\r\n")
            assert sender.recv(100).startswith(b"HTTP/1.1 100")
        late = stack.enter_context(connected(address))

        response, _ = answer_to(late, request + b"\r\n")

    assert response.status == 503


def test_header_with_an_underscore_cannot_pass_for_the_proxys(address):
    _, body = ask(address, "GET", "/", headers={"X_Forwarded_Proto": "https", "X-Other": "1"})

    headers = json.loads(body)["headers"]
    assert "HTTP_X_FORWARDED_PROTO" not in headers
    assert headers["HTTP_X_OTHER"] == "1"


@pytest.mark.parametrize("target", [b"/?q=jos\xc3\xa9", b"/?q=\xff", b"/jos\xc3\xa9"])
def test_bytes_that_an_address_may_not_hold_are_400(address, target):
    with connected(address) as connection:
        response, _ = answer_to(connection, b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")

    assert response.status == 400


def test_site_ends_its_threads_and_their_database_connections(site):
    # The pool keeps a connection per thread; without the closing at the end, dropping the test
    # database would fail and so would the check for unclosed connections.
    for _ in range(4):
        response, _ = ask(site, "GET", "/readyz")
        assert response.status == 200
