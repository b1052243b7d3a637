"""What one might do about a weakness: data to add, augmentation, chunks, gripper, camera. Advice, and untested."""

from __future__ import annotations

import re

from robodx.analysis.findings.base import DECIDED, Certainty
from robodx.analysis.findings.conditions import Condition

# By what a finding is about: an attribute of the record, "stress NAME", or a factor of the suite `bias`. The first that
# matches.
BY_TOPIC: tuple[tuple[str, str], ...] = (
    (r"room_.*|table_texture",
     "add demonstrations in rooms that it does not know (robodx generate TASK… --random-rooms), or vary colours and "
     "textures of the background in training."),
    (r"light_.*",
     "add demonstrations under other light (robodx generate TASK… --random-rooms varies it), or vary brightness and "
     "colours of its pictures in training."),
    (r"camera_.*|cameras|picture|focal_length",
     "put the camera where it was in training, or vary its place: randomly shifted and cropped pictures are the "
     "cheapest augmentation, and a camera on the wrist depends less on where the other stands."),
    (r"(target|goal)_(colour|pattern)|colour|object_texture",
     "add demonstrations with objects of these colours or patterns. Colour jitter in training helps only where no "
     "instruction names a colour."),
    (r"(target|goal)_(kind|size_m)",
     "add demonstrations with objects of such shapes and sizes, and check how far the gripper opens for them."),
    (r"target_turn_deg",
     "add demonstrations with objects turned like this, in which the gripper turns with them."),
    (r"(target|goal)_(side|depth|edge)",
     "add demonstrations in this part of the table, which may be rare in its data (robodx data show PATH)."),
    (r"requires choice",
     "check that the words reach the policy (robodx check POLICY --probe), then add scenes that are shown with several "
     "instructions each, so that the picture alone does not tell what to do."),
    (r"requires distractors|distractors|clutter|(loose_)?things|things_of_target_kind",
     "add demonstrations with so many objects on the table, also some like the target that are left alone."),
    (r"requires change/words",
     "give it the instruction at every query, and add demonstrations in which it changes on the way."),
    (r"requires (change|language/signal).*|first_event.*",
     "let it look again sooner: execute fewer actions of each chunk (replan) or shorter chunks, and add demonstrations "
     "in which things move or change."),
    (r"requires language/(left and right|front and back|ordinal|relation).*",
     "add demonstrations in which only this tells the target from the others, or put a grounding layer before it "
     "(--policy sgl:POLICY), which helped act with ordinals in our test."),
    (r"requires perception.*|(target|goal)_cue",
     "add demonstrations in which only this tells the target from the others. For small differences give it larger "
     "pictures."),
    (r"acts|requires language/order",
     "add demonstrations of several acts in a row, or give it one at a time. Without a history it cannot know which of "
     "them are done."),
    (r"requires language/.*",
     "add demonstrations whose instructions have this, in scenes where to ignore it leads elsewhere. Until then, ask "
     "in plain words."),
    (r"words|clauses",
     "add instructions of such a length to its demonstrations: paraphrases need no new episodes."),
    (r"word .*|phrasing|verb|requires language",
     "add this wording to the instructions of its demonstrations: paraphrases need no new episodes."),
    (r"grasps|expert_grasps|requires motor.*",
     "add demonstrations of this, also of recoveries (robodx generate TASK… --disturb 0.006), and check when the "
     "gripper closes and how far (robodx check POLICY --probe)."),
    (r"act|places|requires .*",
     "add demonstrations of this, also of recoveries (robodx generate TASK… --disturb 0.006)."),
    (r"expert_duration_s|expert_path_m|waits|waited|wait_s",
     "add demonstrations that last as long. A chunk that is long enough for the wait, or a history, keeps it from "
     "stopping in between."),
    (r"clock|stress (actuator_latency|inference_pauses)",
     "make it answer sooner (fewer denoising steps, a smaller network), compute the next chunk while the last one is "
     "executed, or lower the control rate (robodx generate TASK… --hz 10)."),
    (r"stress (packet_loss|action_repeat)",
     "check the connection to the robot, and vary the delay of its actions in training. Absolute targets lose less "
     "than deltas when one is lost or repeated."),
    (r"stress (frame_drop|frame_drop_all|stale_frames|camera_disconnect)",
     "leave out and repeat pictures at random in training, and check the camera's connection and rate."),
    (r"stress (calibration_offset|encoder_bias)",
     "calibrate the camera and the joints, or shift pictures and states at random in training."),
    (r"stress (friction|payload|gripper_backlash)",
     "check the gripper's force and play, and add demonstrations with heavier and smoother objects."),
    (r"stress (noise|motion_blur|resolution|exposure_drift|colour_shift|light_flicker|rolling_shutter|occluding_blob)",
     "add this to its pictures at random in training (augmentation), or mend it at the camera: exposure, shutter, "
     "light."),
    (r"stress .*",
     "put it under this in training, at random and at first mildly."),
)  # fmt: skip
# By what `robodx why` names.
BY_COMPONENT = {
    "sensors": "mend what the sensors lose, or put the same on its pictures at random in training (augmentation).",
    "actuation": "check the robot's controller, delays and gripper, or add demonstrations under such commands.",
    "timing": "make it answer sooner, or compute the next chunk while the last one is executed.",
    "language": "add demonstrations with such instructions in more wordings; until then ask in plain words.",
    "perception": "add demonstrations among objects like the target, and give it larger pictures or a nearer camera.",
    "grasping": "add demonstrations of grasps and of recoveries (robodx generate TASK… --disturb 0.006), and check "
    "when the gripper closes and how far (robodx check POLICY --probe).",
    "acting": "add demonstrations of the stage that fails, also of recoveries (robodx generate TASK… --disturb 0.006).",
}
# Where a task or a plugin's attribute is all that is known.
GENERAL = "add demonstrations of such situations (robodx generate TASK…), and diagnose it again."
UNLESS = "If it is confirmed: "


def topic(condition: Condition) -> str:
    """What a remedy is looked up by; stress by its name, whatever the level."""
    name = condition.levels[0].partition("/")[0] if condition.levels else ""
    return f"stress {name}" if condition.attribute == "stress" else condition.attribute


def remedy(about: str) -> str:
    return next((says for pattern, says in BY_TOPIC if re.fullmatch(pattern, about)), GENERAL)


def advice(condition: Condition, certainty: Certainty, of_kind: str = "") -> str:
    """No stronger than what is known: of what is not decided with a condition, of what may be chance none.

    What a kind of finding advises of its own goes before the table.
    """
    says = of_kind or _sentence(remedy(topic(condition)))
    if certainty in DECIDED:
        return says
    return f"{UNLESS}{says[0].lower()}{says[1:]}" if certainty in ("associated", "undecided") else ""


def advice_on_factor(factor: str) -> str:
    """Of a visual bias: it is seen in pairs of the suite `bias`, and not yet on fresh ones."""
    return f"{UNLESS}{remedy(factor)}"


def advice_on(component: str) -> str:
    """What one might do about a component that `robodx why` names; nothing of chance."""
    return _sentence(BY_COMPONENT[component]) if component in BY_COMPONENT else ""


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
