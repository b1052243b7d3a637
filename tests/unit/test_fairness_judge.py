"""A model as a judge: what it is asked, and what counts as an answer."""

from __future__ import annotations

import pytest

from robodx.chat_completions import Endpoint
from robodx.fairness.judge import Judgement, judge, read_judgement
from tests.chatting import chat_server


def test_it_is_shown_the_picture_and_told_what_the_robot_is_told() -> None:
    with chat_server('{"verdict": "reject", "reason": "The object is  behind\\nthe box."}') as chat:
        given = judge(Endpoint(chat.url, "eye-7b"), b"a picture", "Put it in.")
    assert given == Judgement("reject", "The object is behind the box.")
    (asked,) = chat.asked
    text, picture = asked["messages"][0]["content"]
    assert '"Put it in."' in text["text"] and '"cannot tell"' in text["text"] and picture["type"] == "image_url"
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["verdict", "reason"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([], "just"),
        ({"verdict": "accept"}, "just"),
        ({"verdict": "accept", "reason": "", "score": 3}, "just"),
        ({"verdict": "Accept", "reason": ""}, "one of accept, reject, cannot tell"),
        ({"verdict": ["accept"], "reason": ""}, "one of"),
        ({"verdict": "accept", "reason": 3}, "its reason a text"),
    ],
)
def test_what_is_not_the_asked_shape_is_no_verdict(answer: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_judgement(answer)


def test_halves_of_characters_are_not_kept() -> None:
    assert read_judgement({"verdict": "accept", "reason": "ok \ud800"}) == Judgement("accept", "ok ?")
