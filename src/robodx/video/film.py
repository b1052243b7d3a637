"""The film of an episode: an overview, what the policy saw beside it, and captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.language.meaning import Meaning
from robodx.policy_contract import CameraRequest
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.scoring.events import NewInstruction
from robodx.scoring.from_meaning import stages_for
from robodx.sim.render import Renderer
from robodx.video.captions import Captions
from robodx.video.framing import overview_of
from robodx.video.layout import ALONE, Layout, fitted
from robodx.video.rendering import LAST_FRAME_S, logged_events, restored, standing
from robodx.video.seen import Eyes, Look, deviations, recorded_spec

# To show how a hand takes hold, beside the overview of a policy that looks through no camera.
HAND = "wrist"
QUALITY = "standard"
# As long as it takes to read how it ended.
LAST_CAPTION_S = 1.5


def film_frames(
    row: Mapping[str, Any], trajectory: Trajectory, about: Mapping[str, Any], *, is_plain: bool = False
) -> Iterator[NDArray[np.uint8]]:
    """Of a row of the table of episodes, and the description of its run. Plain is without captions."""
    trial, spec = Trial.of_row(row), recorded_spec(about)
    quality = (about.get("request") or {}).get("quality") or "fast"
    environment = Environment(trial, spec, quality=quality)
    simulation, cameras = environment.simulation, spec.cameras
    overview = overview_of(environment, trajectory)
    shown = cameras or _hand(environment)
    captions = Captions(row, [str(stage) for stage in environment.score.stages], spec.hz, asked(environment))
    footnote = deviations(about) if cameras and not is_plain else ""
    layout = Layout.of(shown, None if is_plain else captions, footnote)
    film = layout.canvas()
    side = layout.overview.height
    renderer = Renderer(simulation, largest=(side, side), quality=QUALITY)
    eyes, last = Eyes.of(environment, trajectory), None
    if not is_plain:
        layout.note(film)
        layout.label(film, layout.overview, "overview", is_above=True)
        if cameras:
            layout.label(film, layout.seen[cameras[0].name], "policy saw", is_above=True)
    try:
        for state in restored(environment, trajectory, logged_events(row)):
            look = eyes.look(state.step)
            if state.is_new:
                with standing(simulation, overview):
                    layout.overview.put(film, renderer.rgb(overview.name, side, side))
                if not cameras:
                    look = Look(state.step, {one.name: renderer.rgb(one.name, one.height, one.width) for one in shown})
            if look is not None and look is not last:
                last = look
                _show(film, layout, look, None if is_plain else spec.hz, is_policys=bool(cameras))
            if not is_plain:
                layout.write(film, captions.at(state.step))
            yield film.copy()
        yield from (film for _ in range(round((LAST_FRAME_S if is_plain else LAST_CAPTION_S) * spec.hz)))
    finally:
        renderer.close()
        environment.close()


def _show(film: NDArray[np.uint8], layout: Layout, look: Look, hz: float | None, *, is_policys: bool) -> None:
    for name, image in look.images.items():
        box = layout.seen[name]
        box.put(film, fitted(image, box.height, box.width))
        if hz is not None:
            # It is asked for actions now and then: between, this is still what it saw last.
            layout.label(film, box, f"{name} at {look.step / hz:.1f} s" if is_policys else name)


def asked(environment: Environment) -> list[list[str]]:
    """The stages that follow from each instruction of an episode, those to come included; of some none follow."""
    later = [event.effect.instruction for event in environment.events if isinstance(event.effect, NewInstruction)]
    return [_stages(meaning, environment) for meaning in (environment.meanings[0], *(one.meaning for one in later))]


def _stages(meaning: Meaning, environment: Environment) -> list[str]:
    try:
        return [str(stage) for stage in stages_for(meaning, environment.simulation.scene)]
    except ValueError:
        return []


def _hand(environment: Environment) -> tuple[CameraRequest, ...]:
    return (CameraRequest(HAND, ALONE, ALONE),) if HAND in environment.robot.cameras else ()
