"""The sentences of the language tasks: those for training, which the tasks use, and those to test with."""

from __future__ import annotations

# Eleven, so that each meets each of a grammar's forms. In all of them the cube comes to be held.
REQUESTS = (
    "Pick up {}.",
    "Please grasp {}.",
    "Can you lift {}?",
    "I want you to take {}.",
    "Grab {}.",
    "Your task is to pick up {}.",
    "Would you take hold of {}?",
    "Now lift {}, please.",
    "You should pick up {}.",
    "I would like you to get {}.",
    "Could you please grab {}?",
)
TEST_REQUESTS = ("Make sure that you end up holding {}.", "What I need in your gripper is {}.", "Go and fetch me {}.")
# Verbs that the requests above do not use; and rarer ones.
FETCHING = ("Fetch {}.", "Seize {}.", "Get hold of {}.", "Please collect {}.", "Raise {}.")
TEST_FETCHING = ("Clutch {}.", "Snatch up {}.", "Please procure {}.")
BOTH = (
    "the {0} {1} cube",
    "the {1} cube that is {0}",
    "the cube that is both {0} and {1}",
    "the cube that is {1} as well as {0}",
    "the {0} one among the {1} cubes",
)
TEST_BOTH = ("the {1} cube which is also {0}", "the cube that is {0} and at the same time {1}", "the {1} and {0} cube")
NEITHER = (
    "the cube that is not {0} and not {1}",
    "the cube that is neither {1} nor {0}",
    "a cube, but no {0} or {1} one",
    "the cube that isn't {1} or {0}",
    "the one cube that is not {1}, and not {0} either",
)
TEST_NEITHER = (
    "the cube that is anything but {0} or {1}",
    "the cube whose colour is not {1}, nor {0}",
    "the only cube without any {0} or {1} on it",
)
EXCEPT = (
    "any cube except the {0} one and the {1} one",
    "the one cube other than the {1} cube and the {0} cube",
    "one of the cubes, excluding the {0} and the {1} ones",
    "any cube but the {1} cube or the {0} cube",
    "the cube that is left when the {0} and the {1} ones are set aside",
    "the only cube apart from the {1} one and the {0} one",
    "whichever cube is on the table besides the {0} and the {1} ones",
)
TEST_EXCEPT = (
    "the remaining cube once you leave out the {1} and the {0} ones",
    "a cube, with the exception of the {0} one and the {1} one",
    "any of the cubes, leaving aside the {1} and the {0} ones",
)
FROM_SIDE = (
    "the {nth}cube from your {side}", "cube number {n} counted from your {side}", "the {last} cube from your {side}",
)  # fmt: skip
LAST = ("first", "next to last", "last")
COUNTED = {
    "left": FROM_SIDE,
    "right": FROM_SIDE,
    "nearest": ("the {nth}nearest cube to you", "the cube that is {nth}nearest to you"),
    "farthest": ("the {nth}farthest cube from you", "the cube that is {nth}farthest from you"),
}
TEST_COUNTED = (
    "the cube that comes {place} when you count them {way}",
    "number {n} of the cubes, going {way}",
    "the {place} of the cubes if you go through them {way}",
)
WAYS = {
    "left": "from your left to your right",
    "right": "from your right to your left",
    "nearest": "from near you to far away",
    "farthest": "from far away to near you",
}
CONDITIONALS = (
    "If there {fact}, pick up the {then} cube; otherwise, pick up the {other} cube.",
    "Pick up the {other} cube unless there {fact}; in that case, take the {then} one.",
    "Grab the {then} cube if there {fact}, else grab the {other} cube.",
    "Provided that there {fact}, lift the {then} cube. Failing that, lift the {other} one.",
    "Should there be {bare}, take the {then} cube; if not, take the {other} cube.",
    "Check if there {fact}. If so, get the {then} cube, and if not, the {other} one.",
    "Grasp the {other} cube, but if there {fact}, grasp the {then} one instead.",
)
TEST_CONDITIONALS = (
    "What to fetch depends on whether there {fact}: the {then} cube if so, the {other} one if not.",
    "The cube to hold up is the {then} one in case there {fact}, and else the {other} one.",
    "Seize the {other} cube, except when there {fact}: then seize the {then} one.",
)
# Each asks for a cube, and does not only forbid. The one that is meant, {0}, is named first as often as last and hardly
# ever alone: who takes whatever is named first, second or last is right in half of them at most.
TWICE_NEGATED = (
    "Do not leave the {0} cube where it is, and do not pick up the {1} cube.",
    "It would be wrong to take the {1} or the {2} cube, and wrong not to take the {0} one.",
    "Take a cube, but none that is not {0}.",
    "Take a cube that is not {1}, but take no cube that is not {0}.",
    "Not picking up the {0} cube is not allowed, and neither is picking up the {1} one.",
    "Do not take the {1} cube, do not fail to take the {0} one, and do not take the {2} one.",
    "Don't fail to grasp the {0} cube, and never grasp the {1} one.",
    "Take no {1} cube, but do not leave the {0} cube where it is.",
    "Never lift the {1} cube, never leave the {0} one where it is, and never lift the {2} one.",
    "You must not lift the {1} or the {2} cube, nor may you refrain from lifting the {0} one.",
    "You must not refrain from lifting the {0} cube, nor may you lift the {1} one.",
)
# {1}: what else is named, "the blue" or "the blue or the green".
TEST_TWICE_NEGATED = (
    "Refusing to take the {0} cube would be a mistake, and so would taking {1} one.",
    "Do not end without the {0} cube in your gripper, and do not end with {1} one in it.",
    "It is not acceptable that the {0} cube is not lifted, nor that {1} one is.",
)
TEST_NONE_BUT = (
    "Grab a cube, but not one that is not {0}.",
    "Any cube will do to hold up, except one that is not {0}.",
    "Hold up one of the cubes, but never one that isn't {0}.",
)
NESTED = (
    "Pick up the cube {0} the cube that is {1} the {2} one.",
    "Find the cube {1} the {2} cube, and grasp the cube {0} that one.",
    "Please lift the cube {0} the cube {1} the {2} cube.",
    "One cube is {1} the {2} one: take the cube {0} that one.",
    "Can you grab the cube that is {0} the cube that is {1} the {2} cube?",
    "Starting from the {2} cube, go to the cube {1} it, and pick up the cube {0} that.",
    "The cube you should get is the one {0} the one {1} the {2} cube.",
)
TEST_NESTED = (
    "Which cube is {1} the {2} one? Hold up the cube that is {0} it.",
    "Fetch whichever cube is {0} the one that is {1} the {2} cube.",
    "Look for the cube {1} the {2} one; what I need in your gripper is the cube {0} it.",
)
