"""Colour, depth in metres and segmentation, against geometry that is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.registry import UnknownName
from robodx.sim.geometry import Array
from robodx.sim.objects import bin_, bowl, cube
from robodx.sim.render import BACKGROUND, QUALITIES, Renderer
from robodx.sim.scene import Shape
from robodx.sim.simulation import Simulation

CAMERAS = ("front", "left", "right", "overview", "back_left", "back_right", "wrist")
EVERY_CAMERA = pytest.mark.parametrize("camera", CAMERAS)
HALF_M = 0.03
# Under the hand at home, and seen by every camera.
PLACE = (-0.24, 0.05)


@pytest.fixture
def simulation(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate(cube("red", HALF_M).at(*PLACE), bin_("blue").at(-0.12, -0.12))


@pytest.fixture
def renderer(simulation: Simulation, renderer_of: Callable[..., Renderer]) -> Renderer:
    return renderer_of(simulation)


def unproject(simulation: Simulation, camera: str, depth: Array) -> Array:
    """(height, width, 3): where in the world each pixel's surface lies, by the pinhole model."""
    height, width = depth.shape
    focal = height / 2 / math.tan(math.radians(simulation.model.camera(camera).fovy[0]) / 2)
    rows, columns = np.mgrid[0:height, 0:width] + 0.5
    x, y = (columns - width / 2) / focal, -(rows - height / 2) / focal
    rays = np.stack([x, y, -np.ones_like(x)], axis=-1)
    view = simulation.data.camera(camera)
    return np.asarray(view.xpos + (depth[..., None] * rays) @ view.xmat.reshape(3, 3).T)


def mask(renderer: Renderer, camera: str, name: str) -> NDArray[np.bool_]:
    """(240, 240): the pixels that show this thing."""
    return np.asarray(renderer.segmentation(camera, 240, 240) == renderer.names.index(name))


@EVERY_CAMERA
@pytest.mark.parametrize(("height", "width"), [(128, 128), (60, 80)])
def test_shapes_and_types(renderer: Renderer, camera: str, height: int, width: int) -> None:
    rgb, depth = renderer.rgb(camera, height, width), renderer.depth(camera, height, width)
    ids = renderer.segmentation(camera, height, width)
    assert rgb.shape == (height, width, 3) and depth.shape == ids.shape == (height, width)
    assert [array.dtype.name for array in (rgb, depth, ids)] == ["uint8", "float32", "int32"]
    assert rgb.flags.c_contiguous and rgb.std() > 10.0
    assert ids.min() >= 0 and ids.max() < len(renderer.names)


def test_all_seven_cameras_are_there(simulation: Simulation) -> None:
    model = simulation.model
    assert {model.camera(index).name for index in range(model.ncam)} == set(CAMERAS)


@EVERY_CAMERA
def test_depth_is_metres_to_the_surfaces_that_are_there(
    simulation: Simulation, renderer: Renderer, camera: str
) -> None:
    points = unproject(simulation, camera, renderer.depth(camera, 240, 240).astype(np.float64))
    seen = mask(renderer, camera, "red cube")
    assert seen.sum() > 30
    # Every point of the cube lies on one of its faces, and its top is seen.
    offset = np.abs(points[seen] - (*PLACE, HALF_M))
    outward = offset.max(axis=1)
    assert np.abs(outward - HALF_M).max() < 2e-3
    assert (np.abs(points[seen][:, 2] - 2 * HALF_M) < 1e-3).sum() > 10
    # The arena is the table's top, or outside of it.
    x, y, z = points[mask(renderer, camera, "arena")].T
    on_table = (np.abs(x) < 0.8) & (np.abs(y) < 0.65) & (z > -0.3)
    assert on_table.sum() > 500 and np.abs(z[on_table]).max() < 2e-3


@pytest.mark.parametrize("camera", ["back_left", "back_right"])
def test_background_is_far_and_the_floor_is_where_it_is(
    simulation: Simulation, renderer: Renderer, camera: str
) -> None:
    depth = renderer.depth(camera, 240, 240)
    points = unproject(simulation, camera, depth.astype(np.float64))
    # Within the walls.
    beside_the_table = (np.abs(points[..., 1]) > 1.0) & (np.abs(points[..., 1]) < 2.1) & (np.abs(points[..., 0]) < 1.5)
    floor = mask(renderer, camera, "arena") & beside_the_table
    assert floor.any() and np.abs(points[floor][:, 2] + 0.75).max() < 0.02
    background = mask(renderer, camera, BACKGROUND)
    if background.any():
        assert depth[background].min() > 0.99 * depth.max() > 5.0


@EVERY_CAMERA
def test_segmentation_names_what_is_drawn(simulation: Simulation, renderer: Renderer, camera: str) -> None:
    assert renderer.names == ["background", "robot", "arena", "red cube", "blue bin"]
    for name, channel in (("red cube", 0), ("blue bin", 2)):
        seen = mask(renderer, camera, name)
        assert seen.sum() > 30, name
        assert renderer.rgb(camera, 240, 240)[seen].mean(axis=0).argmax() == channel
    assert mask(renderer, camera, "robot").any() and mask(renderer, camera, "arena").any()


def test_a_40_mm_cube_in_the_middle_of_the_workspace_is_9_pixels_wide_from_the_front_and_its_corners_are_in_view(
    simulate: Callable[..., Simulation], renderer_of: Callable[..., Renderer]
) -> None:
    corners = {colour: cube(colour).at(x, y) for colour, x, y in (("red", 0.12, 0.27), ("blue", -0.25, -0.27))}
    renderer = renderer_of(simulate(cube("green").at(-0.065, 0.0), *corners.values()))
    ids = renderer.segmentation("front", 128, 128)
    assert (ids == renderer.names.index("green cube")).any(axis=0).sum() >= 9
    for colour in corners:
        assert (ids == renderer.names.index(f"{colour} cube")).any(axis=0).sum() >= 5, "at least its nearer half"


def test_segmentation_follows_a_thing_that_moves(simulation: Simulation, renderer: Renderer) -> None:
    before = mask(renderer, "front", "red cube")
    pose = simulation.scene.thing("red cube").pose
    simulation.set_pose("red cube", pose.shifted(dy=0.2))
    after = mask(renderer, "front", "red cube")
    assert not (before & after).any()
    assert np.argwhere(after)[:, 1].mean() > np.argwhere(before)[:, 1].mean(), "its left is the front picture's right"
    simulation.set_pose("red cube", pose.shifted(dz=-2.0))
    assert not mask(renderer, "front", "red cube").any()


@pytest.mark.parametrize(
    ("camera", "is_seen_left"), [("front", False), ("overview", False), ("back_left", True), ("back_right", True)]
)
def test_robots_left_is_on_the_side_of_the_picture_that_the_docs_say(
    camera: str, is_seen_left: bool, simulate: Callable[..., Simulation], renderer_of: Callable[..., Renderer]
) -> None:
    renderer = renderer_of(simulate(cube("red").at(0.1, 0.15), cube("green").at(0.1, -0.15)))
    left, right = (np.argwhere(mask(renderer, camera, name))[:, 1].mean() for name in ("red cube", "green cube"))
    assert (left < right) == is_seen_left


@pytest.mark.parametrize("quality", QUALITIES)
def test_qualities_draw_the_same_scene_with_the_same_ids(
    quality: str, simulation: Simulation, renderer: Renderer, simulate: Callable[..., Simulation],
    renderer_of: Callable[..., Renderer],
) -> None:  # fmt: skip
    fast = renderer.rgb("front", 128, 128).astype(float), renderer.segmentation("front", 128, 128)
    other = renderer_of(simulate(*simulation.scene), quality=quality)
    image, ids = other.rgb("front", 128, 128).astype(float), other.segmentation("front", 128, 128)
    assert (ids == fast[1]).all(), "multisampling must not blend ids"
    difference = np.abs(image - fast[0]).mean()
    assert difference == 0.0 if quality == "fast" else 0.2 < difference < 15.0, "shadows, and nothing else"


@EVERY_CAMERA
def test_two_renderers_draw_the_same_pixels(
    camera: str, simulation: Simulation, renderer: Renderer, simulate: Callable[..., Simulation],
    renderer_of: Callable[..., Renderer],
) -> None:  # fmt: skip
    again = renderer_of(simulate(*simulation.scene))
    again.segmentation("front", 64, 64)
    for first, second in (
        (renderer.rgb, again.rgb),
        (renderer.depth, again.depth),
        (renderer.segmentation, again.segmentation),
    ):
        assert first(camera, 128, 128).tobytes() == second(camera, 128, 128).tobytes()


def test_unknown_camera_or_quality_suggests_the_nearest(simulation: Simulation, renderer: Renderer) -> None:
    with pytest.raises(UnknownName, match=r'No camera "frnt". Did you mean "front"'):
        renderer.rgb("frnt", 64, 64)
    with pytest.raises(UnknownName, match=r'No rendering quality "fsat". Did you mean "fast"'):
        Renderer(simulation, largest=(64, 64), quality="fsat")


def test_shadows_do_not_speckle_what_casts_them(simulation: Simulation, renderer_of: Callable[..., Renderer]) -> None:
    renderer = renderer_of(simulation, quality="standard")
    shades = renderer.rgb("overview", 240, 240).astype(int).sum(axis=2)
    is_robot = mask(renderer, "overview", "robot")
    inner = np.logical_and.reduce([np.roll(is_robot, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)])
    around = np.stack([np.roll(shades, step, axis) for step in (-1, 1) for axis in (0, 1)])
    speckles = inner & (shades < around.min(axis=0) - 60)
    # A few pixels are edges of its dark rings.
    assert speckles.sum() <= 5


def test_a_bowl_is_drawn_round_over_the_planks_that_collide(simulate: Callable[..., Simulation]) -> None:
    model = simulate(bowl("white").at(-0.1, 0.0)).model
    geoms = [model.geom(index) for index in range(model.ngeom) if model.geom(index).name.startswith("white bowl/")]
    drawn = [geom for geom in geoms if geom.group[0] == 0]
    assert [geom.contype[0] for geom in drawn] == [0]
    assert all(geom.contype[0] for geom in geoms if geom not in drawn) and len(geoms) == 14


def test_a_turned_shape_cannot_collide() -> None:
    with pytest.raises(ValueError, match="collides=False"):
        Shape("turned", (), outline=((0.1, 0.0), (0.01, 0.0)))
