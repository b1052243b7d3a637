"""A model behind an OpenAI-compatible API: what is sent, what counts as an answer, what is said when there is none."""

from __future__ import annotations

import base64
import itertools
import ssl
import tracemalloc
from typing import Any

import pytest

from robodx import chat_completions
from robodx.chat_completions import ANSWERS, ATTEMPTS, LONGEST_RETOLD, BadReply, ChatError, Endpoint
from robodx.timed_sockets import TimedTlsSocket
from tests.chatting import Raw, Reply, chat_server

SCHEMA = {"type": "array"}
GOOD = "[7]"
KEY = "a key that nobody may see"


def ask(url: str, *, key: str | None = None, timeout_s: float = 10.0) -> tuple[list[Any], list[float]]:
    waits: list[float] = []
    endpoint = Endpoint(url, "eye-7b", key, timeout_s)
    return chat_completions.ask(endpoint, "What?", b"a picture", SCHEMA, a_list, sleep=waits.append), waits


def a_list(answer: Any) -> list[Any]:
    if not isinstance(answer, list):
        raise ValueError("it must be a list")
    return answer


def test_a_picture_and_a_question_are_sent_as_openai_has_it() -> None:
    with chat_server(GOOD) as chat:
        assert ask(f"{chat.url}/", key=KEY) == ([7], [])
    (asked,) = chat.asked
    assert (asked["path"], asked["model"], asked["temperature"]) == ("/v1/chat/completions", "eye-7b", 0)
    text, picture = asked["messages"][0]["content"]
    assert text == {"type": "text", "text": "What?"}
    assert picture["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(b'a picture').decode()}"
    assert asked["response_format"]["json_schema"] == {"name": "reply", "strict": True, "schema": SCHEMA}
    assert chat.keys == [f"Bearer {KEY}"]


def test_without_a_key_none_is_sent_and_a_whole_address_is_kept() -> None:
    with chat_server(GOOD) as chat:
        ask(f"{chat.url}/chat/completions/")
    assert chat.keys == [None] and chat.asked[0]["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("malformed", "why"),
    [
        ("I see a cube.", "it is no JSON"),
        ("", "it is no JSON"),
        ("[1", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ('{"a": 1}', "it must be a list"),
    ],
)
def test_an_answer_that_is_none_is_told_so_and_gets_another_chance(malformed: str, why: str) -> None:
    with chat_server(malformed, malformed, "```json\n[2]\n```") as chat:
        assert ask(chat.url) == ([2], [])
    first, *others = (one["messages"] for one in chat.asked)
    for asked, said, correction in others:
        assert asked == first[0] and said == {"role": "assistant", "content": malformed[:LONGEST_RETOLD]}
        assert correction["role"] == "user" and correction["content"].startswith(f"That was not valid: {why}")
    assert len(others) == 2


def test_one_who_never_answers_as_asked_is_an_error_that_says_what_was_wrong() -> None:
    with chat_server('{"a": "\ud800"}') as chat, pytest.raises(BadReply) as raised:
        ask(chat.url)
    assert len(chat.asked) == ANSWERS
    told = f'the model "eye-7b" at {chat.url}/chat/completions did not answer as asked, {ANSWERS} times in a row'
    # Halves of characters could not be written into a table.
    assert str(raised.value) == f'{told}: it must be a list. It said: {{"a": "?"}}'


def test_a_reply_that_is_none_is_asked_for_again() -> None:
    with chat_server(Reply(b"<html>"), GOOD) as chat:
        assert ask(chat.url) == ([7], [])
    assert len(chat.asked) == 2


def test_a_reply_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "LARGEST_REPLY_BYTES", 100)
    with chat_server("x" * 200) as chat, pytest.raises(BadReply, match="the reply has more than"):
        ask(chat.url)


@pytest.mark.parametrize(
    "content", [b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}', b"[]"]
)
def test_what_is_no_chat_completion_is_told(content: bytes) -> None:
    why = "3 times in a row: the reply (is no JSON|is no chat completion|says nothing)"
    with chat_server(Reply(content)) as chat, pytest.raises(BadReply, match=why):
        ask(chat.url)


@pytest.mark.parametrize("says", [b'{"error": "unknown field: response_format"}', b"no type json_schema"])
def test_a_server_that_knows_no_schemas_is_asked_without_at_once(says: bytes) -> None:
    with chat_server(Reply(says, 400), GOOD) as chat:
        assert ask(chat.url) == ([7], [0.0])
    assert "response_format" in chat.asked[0] and "response_format" not in chat.asked[1]


def test_a_busy_server_is_waited_for_as_long_as_it_asks() -> None:
    busy = Reply(b"slow down", 429, (("Retry-After", "7"),))
    with chat_server(busy, Reply(b"", 503), Reply(b"", 408), GOOD) as chat:
        assert ask(chat.url) == ([7], [7.0, 2.0, 4.0])


def test_one_that_stays_busy_is_given_up() -> None:
    busy = Reply(b"", 429, (("Retry-After", "9999"),))
    with chat_server(busy) as chat, pytest.raises(ChatError, match=r"is busy \(429\), 4 times in a row"):
        ask(chat.url)
    assert len(chat.asked) == ATTEMPTS


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"invalid key", 401), "refuses the key in the environment. invalid key"),
        (Reply(b"no such model", 404), 'no model "eye-7b". no such model'),
        (Reply(b"too large a picture", 413), "413: too large a picture"),
        (Reply(b"", 418), "418: it does not say why"),
        (Reply(b"", 302, (("Location", "http://elsewhere/"),)), "302: it leads elsewhere, to http://elsewhere/"),
    ],
)
def test_what_another_attempt_would_not_change_is_told_at_once_without_the_key(reply: Reply, why: str) -> None:
    with chat_server(reply) as chat, pytest.raises(ChatError, match=why) as raised:
        ask(chat.url, key=KEY)
    assert len(chat.asked) == 1 and KEY not in str(raised.value) and not isinstance(raised.value, BadReply)
    assert KEY not in repr(Endpoint(chat.url, "m", KEY))


def test_a_missing_key_is_named_as_what_is_missing() -> None:
    with chat_server(Reply(b"", 401)) as chat, pytest.raises(ChatError, match=r"and none is in the environment$"):
        ask(chat.url)


def test_one_that_does_not_answer_in_time_is_told() -> None:
    with chat_server(Reply(GOOD, after_s=0.3)) as chat, pytest.raises(ChatError, match="did not answer within 0"):
        ask(chat.url, timeout_s=0.05)


# Servers that keep to no rule. Each is asked again, and then answers.


HEAD = b"HTTP/1.1 200 OK\r\n"
SAID = b'{"choices": [{"message": {"content": "[7]"}}]}'
# Whole in the end, but long after the time limit, without ever pausing for as long.
SLOW = HEAD + b"Content-Length: %d\r\n\r\n" % len(SAID) + SAID
DRIPPING = {
    "its headers": Raw([*(SLOW[i : i + 1] for i in range(12)), SLOW[12:]], every_s=0.03),
    "its reply": Raw([SLOW[:-12], *(SLOW[i : i + 1] for i in range(len(SLOW) - 12, len(SLOW)))], every_s=0.03),
    "its refusal": Raw([b"HTTP/1.1 503 No\r\nContent-Length: 12\r\n\r\n", *[b"x"] * 12], every_s=0.03),
    "nothing more of its refusal": Raw([b"HTTP/1.1 503 No\r\nContent-Length: 12\r\n\r\n", b"x"], every_s=0.4),
    "that it goes on": Raw([*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 12, SLOW], every_s=0.03),
}


@pytest.mark.parametrize("what", DRIPPING)
def test_one_that_drips_meets_the_time_limit_and_is_asked_again(what: str) -> None:
    with chat_server(DRIPPING[what], GOOD) as chat:
        assert ask(chat.url, timeout_s=0.15)[0] == [7]
    assert len(chat.asked) > 1


def test_one_that_drips_meets_the_time_limit_with_tls_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for end in ends:
        # Without a certificate, which would have to be made.
        end.maximum_version = ssl.TLSVersion.TLSv1_2
        end.set_ciphers("aNULL:@SECLEVEL=0")
    server, client = ends
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.sslsocket_class = chat_completions._tls().sslsocket_class
    assert client.sslsocket_class is TimedTlsSocket
    monkeypatch.setattr(chat_completions, "_tls", lambda: client)
    with chat_server(DRIPPING["its reply"], GOOD, tls=server) as chat:
        assert ask(chat.url, timeout_s=0.25)[0] == [7]
    assert len(chat.asked) > 1


@pytest.mark.parametrize(
    "broken",
    [
        Raw([b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nabc"]),
        Raw([b"HTTP/1.1 500 No\r\nContent-Length: 99\r\n\r\nabc"], resets=True),
        Raw([HEAD + b"Transfer-Encoding: chunked\r\n\r\n50\r\nabc"]),
        Raw([HEAD + b"Transfer-Encoding: chunked\r\n\r\nno size\r\nabc"]),
        Raw([HEAD + b"Content-Length: 99\r\n\r\nabc"], resets=True),
        Raw([b"\xff" * 60_000 + b"\r\n\r\n"]),
        Raw([HEAD + b"A: b\r\n" * 1000 + b"\r\n"]),
        Raw([HEAD + b"A: " + b"b" * 100_000]),
        Raw([]),
    ],
)
def test_one_that_breaks_off_is_asked_again_and_told_in_a_line(broken: Raw) -> None:
    with chat_server(broken, GOOD) as chat:
        assert ask(chat.url) == ([7], [1.0])
    with chat_server(broken) as chat, pytest.raises(ChatError) as raised:
        ask(chat.url)
    assert len(chat.asked) == ATTEMPTS
    assert len(str(raised.value)) < 600 and str(raised.value).isprintable()


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\xfd" * 100, b"\x1f\x8b no gzip", b"\x00" * 9, b'{"choices": ' + b"9" * 5000, SAID[:-3]]
)
def test_a_reply_that_cannot_be_read_is_asked_for_again(content: bytes) -> None:
    with chat_server(Reply(content, headers=(("Content-Encoding", "gzip"),)), GOOD) as chat:
        assert ask(chat.url) == ([7], [])


@pytest.mark.parametrize("head", [b"Content-Length: 99999999999\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n-1\r\n"])
def test_a_reply_of_gigabytes_is_not_kept(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of size -1 is all that comes, to Python's library."""
    for limit in ("LARGEST_REPLY_BYTES", "ENVELOPE_BYTES"):
        monkeypatch.setattr(chat_completions, limit, 100_000)
    endless = Raw(itertools.chain([HEAD + head], itertools.repeat(b"a" * 50_000, 400)))
    with chat_server(endless, GOOD) as chat:
        tracemalloc.start()
        try:
            assert ask(chat.url) == ([7], [])
            assert tracemalloc.get_traced_memory()[1] < 2_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("asked_for", "waited_s"),
    [("nan", 1.0), ("inf", 60.0), ("-5", 0.0), ("-inf", 0.0), ("9" * 500, 60.0), ("soon", 1.0), ("", 1.0),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 1.0)],
)  # fmt: skip
def test_no_busy_server_is_waited_for_longer_than_a_minute(asked_for: str, waited_s: float) -> None:
    with chat_server(Reply(b"", 429, (("Retry-After", asked_for),)), GOOD) as chat:
        assert ask(chat.url) == ([7], [waited_s])


def test_where_a_server_leads_is_told_up_to_a_point() -> None:
    elsewhere = Reply(b"x" * 10_000, 302, (("Location", f"http://{'a' * 10_000}"),))
    with chat_server(elsewhere) as chat, pytest.raises(ChatError, match="302: it leads elsewhere") as raised:
        ask(chat.url)
    assert len(str(raised.value)) < 900


def test_one_that_is_not_there_is_told() -> None:
    with chat_server(GOOD) as chat:
        pass
    with pytest.raises(ChatError, match=r"cannot be reached: .*refused"):
        ask(chat.url)
    with pytest.raises(ChatError, match=r"cannot be reached: .*label"):
        ask("http://no..host/v1")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "http://me:secret@host/v1",
        "http://[",
        "http://host:99999/v1",
        "http://host:x/v1",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ChatError, match="address"):
        Endpoint(url, "m")


def test_a_key_that_cannot_be_sent_is_refused_unseen() -> None:
    with pytest.raises(ChatError, match="the key in MY_KEY must be plain ASCII") as raised:
        Endpoint("http://host/v1", "m", f"{KEY}\n", key_name="MY_KEY")
    assert KEY not in str(raised.value)
