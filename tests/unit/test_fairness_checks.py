"""What a camera sees of a thing, and that every way to spoil an instance is found and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.fairness.checks import Limits, check, checked_situation, roles
from robodx.fairness.colour_difference import Lab, ciede2000, lab
from robodx.fairness.looking import contrast
from robodx.interventions.base import INTERVENTIONS
from robodx.sim.render import Renderer
from robodx.sim.robot import ROBOTS
from robodx.sim.simulation import Simulation
from robodx.tasks.base import TASKS
from robodx.tasks.bias import SHAPES, solid_and_box
from tests.fairness import PLANTED, SOLID_X, SOLID_Y, good, screened, seen_from

# Sharma, Wu and Dalal, "The CIEDE2000 color-difference formula: implementation notes" (2005), table 1: both colours
# and their difference.
PAIRS = """
50 2.6772 -79.7751  50 0 -82.7485  2.0425
50 3.1571 -77.2803  50 0 -82.7485  2.8615
50 2.8361 -74.0200  50 0 -82.7485  3.4412
50 -1.3802 -84.2814  50 0 -82.7485  1.0000
50 -1.1848 -84.8006  50 0 -82.7485  1.0000
50 -0.9009 -85.5211  50 0 -82.7485  1.0000
50 0 0  50 -1 2  2.3669
50 -1 2  50 0 0  2.3669
50 2.49 -0.0010  50 -2.49 0.0009  7.1792
50 2.49 -0.0010  50 -2.49 0.0010  7.1792
50 2.49 -0.0010  50 -2.49 0.0011  7.2195
50 2.49 -0.0010  50 -2.49 0.0012  7.2195
50 -0.0010 2.49  50 0.0009 -2.49  4.8045
50 -0.0010 2.49  50 0.0010 -2.49  4.8045
50 -0.0010 2.49  50 0.0011 -2.49  4.7461
50 2.5 0  50 0 -2.5  4.3065
50 2.5 0  73 25 -18  27.1492
50 2.5 0  61 -5 29  22.8977
50 2.5 0  56 -27 -3  31.9030
50 2.5 0  58 24 15  19.4535
50 2.5 0  50 3.1736 0.5854  1.0000
50 2.5 0  50 3.2972 0  1.0000
50 2.5 0  50 1.8634 0.5757  1.0000
50 2.5 0  50 3.2592 0.3350  1.0000
60.2574 -34.0099 36.2677  60.4626 -34.1751 39.4387  1.2644
63.0109 -31.0961 -5.8663  62.8187 -29.7946 -4.0864  1.2630
61.2901 3.7196 -5.3901  61.4292 2.2480 -4.9620  1.8731
35.0831 -44.1164 3.7933  35.0232 -40.0716 1.5901  1.8645
22.7233 20.0904 -46.6940  23.0331 14.9730 -42.5619  2.0373
36.4612 47.8580 18.3852  36.2715 50.5065 21.2231  1.4146
90.8027 -2.0831 1.4410  91.1528 -1.6435 0.0447  1.4441
90.9257 -0.5406 -0.9208  88.6381 -0.8985 -0.7239  1.5381
6.7747 -0.2908 -2.4247  5.8714 -0.0985 -2.2286  0.6377
2.0776 0.0795 -1.1350  0.9033 -0.0636 -0.5514  0.9082
"""


def test_differences_of_colours_are_those_that_were_published() -> None:
    rows = [[float(number) for number in line.split()] for line in PAIRS.strip().splitlines()]
    assert len(rows) == 34
    for l1, a1, b1, l2, a2, b2, published in rows:
        one, other = (l1, a1, b1), (l2, a2, b2)
        assert ciede2000(one, other) == pytest.approx(published, abs=5e-5)
        assert ciede2000(other, one) == pytest.approx(published, abs=5e-5)


@pytest.mark.parametrize(
    ("rgb", "expected"),
    # As the CIE's own formulas give them for D65.
    [
        ((255, 255, 255), (100.0, 0.0, 0.0)),
        ((0, 0, 0), (0.0, 0.0, 0.0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((119, 119, 119), (50.03, 0.0, 0.0)),
    ],
)
def test_pixels_have_the_colours_of_srgb(rgb: tuple[int, int, int], expected: Lab) -> None:
    assert lab(rgb) == pytest.approx(expected, abs=0.02)


def test_contrast_is_to_the_ring_around_and_to_nothing_else() -> None:
    picture = np.full((64, 64, 3), 200, dtype=np.uint8)
    visible = np.zeros((64, 64), dtype=bool)
    visible[20:30, 20:30] = True
    picture[visible] = (200, 30, 30)
    expected = ciede2000(*((float(x), float(y), float(z)) for x, y, z in lab([(200, 30, 30), (200, 200, 200)])))
    assert contrast(picture, visible) == pytest.approx(expected)
    picture[40:] = 0
    assert contrast(picture, visible) == pytest.approx(expected)
    picture[14:36, 14:36] = (200, 30, 30)
    assert contrast(picture, visible) == 0.0
    assert contrast(picture, np.zeros_like(visible)) is None


def test_a_thing_alone_is_seen_beyond_the_edges_and_through_others() -> None:
    panda = ROBOTS["panda"]
    simulation = Simulation(screened(SOLID_X, SOLID_Y, 0.05).scene, panda, np.array(panda.arm.home))
    renderer = Renderer(simulation, largest=(192, 192))
    before = renderer.segmentation("front", 64, 64)
    assert not (before == renderer.names.index("solid")).any()
    alone = renderer.alone("solid", "front", 64, 64)
    assert 15 < alone.sum() < 60
    wide = renderer.alone("solid", "front", 64, 64, margin=64)
    # The picture is in the middle of the wider one, pixel by pixel.
    assert wide.shape == (192, 192) and (wide[64:-64, 64:-64] == alone).all()
    # Nothing of it is left behind.
    assert (renderer.segmentation("front", 64, 64) == before).all()
    renderer.close()


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_spoilt_is_found(name: str) -> None:
    make, why = PLANTED[name]
    checked = checked_situation(make())
    assert any(why in reason for reason in checked.reasons), checked
    assert not checked.passes


def test_what_can_be_seen_passes() -> None:
    shapes = [(shape, solid_and_box(shape, place, "blue", 0, yaw_rad=0.6)) for place, shape in enumerate(SHAPES)]
    task, changes = TASKS["bias/put_solid_in_box"], INTERVENTIONS
    rng = np.random.default_rng(0)
    placed = task.placed(0)
    others = [
        (name, changes[name].apply(placed, value, rng))
        for name, value in (("camera", "moved"), ("light brightness", "dim"), ("target colour", "green"))
    ]
    table = check((name, "good", situation) for name, situation in [*shapes, *others])
    assert table["reasons"].to_list() == [[]] * 7
    assert table["passes"].all() and (table["target_px"] > 200).all()


def test_a_roof_seen_on_its_slope_alone_is_flat() -> None:
    # Its other faces are turned away; people take it for a tile.
    checked = checked_situation(solid_and_box("triangular block", 0, "red", 0))
    assert checked.reasons == ("the solid is seen flat or edge-on: 1 of 2 faces",)


def test_every_camera_counts_and_is_named() -> None:
    hidden = screened(SOLID_X, SOLID_Y, 0.05)
    checked = checked_situation(hidden, cameras=("right", "front"))
    assert checked.reasons == ("the solid is hidden: 100% of it (front)",)
    assert checked.measured.target_px == 0 and len(checked.pictures) == 2
    assert checked_situation(hidden, cameras=("right",)).passes


def test_limits_decide() -> None:
    strict = Limits(least_target_px=2000, least_contrast=60.0, most_lightness=50.0)
    (reasons,) = check([("a", "b", good())], limits=strict)["reasons"].to_list()
    assert [reason.partition(":")[0] for reason in reasons] == [
        "the picture is too bright",
        "the solid is too small",
        "the solid has the colour of what is around it",
        "the box has the colour of what is around it",
    ]
    (reasons,) = check([("a", "b", good())], limits=Limits(least_faces=3))["reasons"].to_list()
    assert reasons == ["the solid is seen flat or edge-on: 2 of 3 faces"]


def test_what_cannot_be_built_does_not_pass() -> None:
    checked = checked_situation(seen_from((0.0, 0.0, 2.0), (0.0, 0.0, 0.0)))
    assert checked.reasons == (
        'it cannot be built: camera "front" looks straight up or down; move its target a little',
    )
    assert checked.pictures == () and checked.measured.target_px is None


def test_roles_are_those_of_the_last_stage() -> None:
    assert roles(good()) == ("solid", ("box",))
    assert roles(TASKS["control/stack_cube"].placed(0)) == ("red cube", ("green cube",))
    assert roles(TASKS["carrier/pick_up"].placed(0))[1] == ()


def test_a_camera_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(UserError, match="frnt"):
        checked_situation(good(), cameras=("frnt",))
