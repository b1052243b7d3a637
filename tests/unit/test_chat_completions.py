"""A model behind an OpenAI-compatible API: what is sent, what counts as an answer, what is said when there is none."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from robodx import chat_completions
from robodx.chat_completions import ANSWERS, ATTEMPTS, LONGEST_RETOLD, BadReply, ChatError, Endpoint
from tests.chatting import Reply, chat_server

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


def test_one_that_is_not_there_is_told() -> None:
    with chat_server(GOOD) as chat:
        pass
    with pytest.raises(ChatError, match=r"cannot be reached: .*refused"):
        ask(chat.url)
    with pytest.raises(ChatError, match=r"cannot be reached: .*label"):
        ask("http://no..host/v1")


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "file:///etc/passwd", "http://", "http://me:secret@host/v1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ChatError, match="address"):
        Endpoint(url, "m")


def test_a_key_that_cannot_be_sent_is_refused_unseen() -> None:
    with pytest.raises(ChatError, match="the key in MY_KEY must be plain ASCII") as raised:
        Endpoint("http://host/v1", "m", f"{KEY}\n", key_name="MY_KEY")
    assert KEY not in str(raised.value)
