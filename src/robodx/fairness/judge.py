"""A vision-language model as a judge of pictures: what it is asked, and what counts as an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from robodx.chat_completions import BadReply, Endpoint, complete, picture_part

VERDICTS = ("accept", "reject", "cannot tell")
LONGEST_REASON = 500
# A model that answers in another shape is asked again; it may say something else then.
ATTEMPTS = 3
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


def judge(
    endpoint: Endpoint, png: bytes, instruction: str, *, sleep: Callable[[float], None] = time.sleep
) -> Judgement:
    """`BadReply` if it never answers as it is asked to."""
    text = {"type": "text", "text": PROMPT.format(instruction=instruction)}
    messages = [{"role": "user", "content": [text, picture_part(png)]}]
    problem = BadReply("it was never asked")
    for _ in range(ATTEMPTS):
        try:
            return read_reply(complete(endpoint, messages, schema=SCHEMA, sleep=sleep))
        except BadReply as error:
            problem = error
    raise BadReply(f"{problem}, {ATTEMPTS} times in a row") from problem


def read_reply(text: str) -> Judgement:
    """Strictly: an object with a verdict and a reason and nothing more; a fence of Markdown around it is forgiven."""
    lines = text.strip().splitlines()
    if len(lines) > 2 and lines[0].strip().lower() in ("```", "```json") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    try:
        said = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        raise BadReply(f"the model did not answer in JSON: {text[:80]!r}") from None
    if not isinstance(said, dict) or set(said) != {"verdict", "reason"}:
        raise BadReply(f'the model\'s JSON does not have just "verdict" and "reason": {text[:80]!r}')
    verdict, reason = said["verdict"], said["reason"]
    if verdict not in VERDICTS or not isinstance(reason, str):
        raise BadReply(f"the model's verdict is none of {', '.join(VERDICTS)}, or its reason no text: {text[:80]!r}")
    # Halves of characters can be read from JSON, and cannot be written into a table.
    return Judgement(verdict, " ".join(reason.encode("utf-8", "replace").decode().split())[:LONGEST_REASON])
