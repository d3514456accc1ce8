"""`%00` in a URL, where libwebsockets by itself ends the connection or cuts the text."""

import json

import httpx
import pytest
from test_raw_bytes import request
from test_raw_http import talk
from tokens import mint


@pytest.mark.parametrize(
    "field, path",
    [
        ("callId", "/api/calls/signal?callId=%00"),
        ("callId", "/api/calls/signal?callId=c-1%00x"),
        ("callId", "/api/calls/signal/%00"),
        ("callId", "/api/calls/signal/c-1%00"),
        ("device", "/api/calls/signal?callId=c-1&device=%00"),
        ("peer", "/api/calls/c-1?peer=%00"),
    ],
)
def test_a_nul_in_an_address_is_refused_and_the_field_is_named(world, field, path):
    """The library once ended the connection without a response, or cut the text there and accepted it."""
    response = talk(world.server.port, request("GET", path, f"Authorization: Bearer {world.token()}"))
    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), response
    assert json.loads(body)["field"] == field


def test_a_nul_in_an_address_is_refused_over_tls_too(make_server, certificate):
    server = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    headers = {"Authorization": f"Bearer {mint(server.secret, '11')}"}
    response = httpx.get(server.url + "/api/calls/signal?callId=%00", headers=headers, verify=False, trust_env=False)
    assert (response.status_code, response.json()["field"]) == (400, "callId")


def test_an_escaped_nul_in_a_text_is_unchanged(world):
    taro, hanako = world.connect("11"), world.connect("10")
    text = "GET /%00 HTTP/1.1"
    taro.ask(type="message", to="10", body=text)
    assert hanako.expect(type="message")["body"] == text
