"""A model as a judge: what it is asked, what counts as an answer, and what is said when there is none."""

from __future__ import annotations

import base64

import pytest

from robodx.chat_completions import ATTEMPTS, BadReply, ChatError, Endpoint
from robodx.fairness.judge import Judgement, judge, read_reply
from tests.chatting import Reply, chat_server

GOOD = '{"verdict": "reject", "reason": "The object is  behind\\nthe box."}'
KEY = "a key that nobody may see"


def ask(url: str, *, key: str | None = None, timeout_s: float = 10.0) -> tuple[Judgement, list[float]]:
    waits: list[float] = []
    return judge(Endpoint(url, "eye-7b", key, timeout_s), b"a picture", "Put it in.", sleep=waits.append), waits


def test_it_is_shown_the_picture_and_told_what_the_robot_is_told() -> None:
    with chat_server(GOOD) as chat:
        given, waits = ask(chat.url, key=KEY)
    assert given == Judgement("reject", "The object is behind the box.") and waits == []
    (asked,) = chat.asked
    assert (asked["path"], asked["model"], asked["temperature"]) == ("/v1/chat/completions", "eye-7b", 0)
    text, picture = asked["messages"][0]["content"]
    assert '"Put it in."' in text["text"] and '"cannot tell"' in text["text"]
    assert picture["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(b'a picture').decode()}"
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["verdict", "reason"]
    assert chat.keys == [f"Bearer {KEY}"]


def test_without_a_key_none_is_sent_and_a_whole_address_is_kept() -> None:
    with chat_server(GOOD) as chat:
        ask(f"{chat.url}/chat/completions/")
    assert chat.keys == [None] and chat.asked[0]["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I would accept it.", "did not answer in JSON"),
        ("", "did not answer in JSON"),
        ("[]", "just"),
        ('{"verdict": "accept"}', "just"),
        ('{"verdict": "accept", "reason": "", "score": 3}', "just"),
        ('{"verdict": "Accept", "reason": ""}', "none of accept, reject, cannot tell"),
        ('{"verdict": ["accept"], "reason": ""}', "none of"),
        ('{"verdict": "accept", "reason": 3}', "its reason no text"),
        ("[" * 100_000, "did not answer in JSON"),
    ],
)
def test_what_is_not_the_asked_shape_is_no_verdict(text: str, why: str) -> None:
    with pytest.raises(BadReply, match=why):
        read_reply(text)


def test_a_fence_around_the_answer_is_forgiven_and_halves_of_characters_are_not_kept() -> None:
    assert read_reply('```json\n{"verdict": "accept", "reason": "ok \\ud800"}\n```') == Judgement("accept", "ok ?")


def test_a_malformed_reply_is_asked_for_again() -> None:
    with chat_server("no", Reply(b"<html>"), GOOD) as chat:
        given, _ = ask(chat.url)
    assert given.verdict == "reject" and len(chat.asked) == 3


@pytest.mark.parametrize(
    "content", [b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}', b"[]"]
)
def test_what_is_no_chat_completion_is_told(content: bytes) -> None:
    with chat_server(Reply(content)) as chat, pytest.raises(BadReply, match="3 times in a row"):
        ask(chat.url)


def test_a_server_that_knows_no_schemas_is_asked_without() -> None:
    refusal = Reply(b'{"error": "unknown field: response_format"}', 400)
    with chat_server(refusal, GOOD) as chat:
        given, _ = ask(chat.url)
    assert given.verdict == "reject" and "response_format" not in chat.asked[1]


def test_a_busy_server_is_waited_for_as_long_as_it_asks() -> None:
    busy = Reply(b"slow down", 429, (("Retry-After", "7"),))
    with chat_server(busy, Reply(b"", 503), GOOD) as chat:
        given, waits = ask(chat.url)
    assert given.verdict == "reject" and waits == [7.0, 2.0]


def test_one_that_stays_busy_is_given_up_with_what_to_do() -> None:
    with (
        chat_server(Reply(b"", 429, (("Retry-After", "9999"),))) as chat,
        pytest.raises(ChatError, match="is busy") as raised,
    ):
        ask(chat.url)
    assert len(chat.asked) == ATTEMPTS and "goes on later" in str(raised.value)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"invalid key", 401), "refuses the key. invalid key"),
        (Reply(b"no such model", 404), 'no model "eye-7b". no such model'),
        (Reply(b"too large a picture", 413), "413: too large a picture"),
        (Reply(b"", 302, (("Location", "http://elsewhere/"),)), "leads elsewhere .302., to http://elsewhere/"),
    ],
)
def test_what_another_attempt_would_not_change_is_told_at_once_without_the_key(reply: Reply, why: str) -> None:
    with chat_server(reply) as chat, pytest.raises(ChatError, match=why) as raised:
        ask(chat.url, key=KEY)
    assert len(chat.asked) == 1 and KEY not in str(raised.value) and not isinstance(raised.value, BadReply)
    assert KEY not in repr(Endpoint(chat.url, "m", KEY))


def test_a_missing_key_is_named_as_what_is_missing() -> None:
    with chat_server(Reply(b"", 401)) as chat, pytest.raises(ChatError, match="wants a key, and none is set"):
        ask(chat.url)


def test_one_that_does_not_answer_in_time_is_told() -> None:
    with chat_server(Reply(GOOD, after_s=0.3)) as chat, pytest.raises(ChatError, match="did not answer within 0"):
        ask(chat.url, timeout_s=0.05)


def test_one_that_is_not_there_is_told() -> None:
    with chat_server(GOOD) as chat:
        pass
    with pytest.raises(ChatError, match=r"cannot be reached: .*refused"):
        ask(chat.url)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "file:///etc/passwd", "http://", "http://me:secret@host/v1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ChatError, match="address"):
        Endpoint(url, "m")
