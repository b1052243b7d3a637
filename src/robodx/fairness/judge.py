"""A vision-language model as a judge of pictures: what it is asked, and what counts as an answer."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from robodx.chat_completions import Endpoint, ask

VERDICTS = ("accept", "reject", "cannot tell")
LONGEST_REASON = 500
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": list(VERDICTS)}, "reason": {"type": "string"}},
    "required": ["verdict", "reason"],
    "additionalProperties": False,
}
PROMPT = """\
The picture shows what a robot's camera sees before the robot begins. The robot is told: "{instruction}"

Could a careful person, who has only this picture, do what it is told? Accept it if the object that is to be moved \
and the place where it goes are both in the picture, large enough, not hidden, told apart from what is around them, \
and recognisable as solid objects. Unusual colours, light and viewpoints are intended and are no reason to reject. \
Reject it if any of this is not so, or if it is done already. Say "cannot tell" only if the picture is broken.

Answer with one JSON object and nothing else: \
{{"verdict": "accept" | "reject" | "cannot tell", "reason": "one short sentence"}}"""


@dataclass(frozen=True)
class Judgement:
    verdict: str
    reason: str


def judgement_key(item: str, model: str) -> str:
    """Of a picture by its item, a model and what it is asked: another question is another judgement."""
    return blake2b("\x1f".join((item, model, PROMPT)).encode(), digest_size=12).hexdigest()


def judge(endpoint: Endpoint, png: bytes, instruction: str) -> Judgement:
    """`BadReply` if it never answers as it is asked to."""
    return ask(endpoint, PROMPT.format(instruction=instruction), png, SCHEMA, read_judgement)


def read_judgement(answer: Any) -> Judgement:
    """Strictly: an object with a verdict and a reason and nothing more; ValueError says what is wrong with another."""
    if not isinstance(answer, dict) or set(answer) != {"verdict", "reason"}:
        raise ValueError('it must have just "verdict" and "reason"')
    verdict, reason = answer["verdict"], answer["reason"]
    if verdict not in VERDICTS or not isinstance(reason, str):
        raise ValueError(f"its verdict must be one of {', '.join(VERDICTS)}, and its reason a text")
    # Halves of characters can be read from JSON, and cannot be written into a table.
    return Judgement(verdict, " ".join(reason.encode("utf-8", "replace").decode().split())[:LONGEST_REASON])
