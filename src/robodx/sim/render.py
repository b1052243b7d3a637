"""Draws what the cameras see: colour, depth in metres, and which thing each pixel shows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodx.registry import UnknownName, unknown
from robodx.sim import gl
from robodx.sim.build import UNDRAWN_GROUP
from robodx.sim.contacts import ARENA, ROBOT
from robodx.sim.engine import mujoco
from robodx.sim.simulation import Simulation


@dataclass(frozen=True)
class Quality:
    """How much the renderer takes trouble: shadow map size, multisampling, and slices around what is round."""

    shadow_size: int
    samples: int
    slices: int


# Goes up when pictures of the same scene come out otherwise: other lights, materials or sampling.
RENDERING_VERSION = "2"
QUALITIES = {"fast": Quality(0, 0, 20), "standard": Quality(1536, 4, 40), "high": Quality(4096, 8, 40)}
# Nothing is further away than the far plane, where the background is.
FAR_M = 10.0
# MuJoCo holds shadows off the surfaces that cast them by a share of the distance to the far plane. With this one it is
# about a millimetre: with 10 m it is nothing, and surfaces speckle themselves.
SHADOW_FAR_M = 6000.0
# A scene's size costs time at every reset; what MuJoCo draws beyond the model's own geoms is little.
SPARE_GEOMS = 32
BACKGROUND = "background"


class Renderer:
    """Draws one simulation. All renderers of a process share one GL context, which costs more than an episode."""

    def __init__(self, simulation: Simulation, *, largest: tuple[int, int], quality: str = "fast") -> None:
        if quality not in QUALITIES:
            raise UnknownName(unknown("rendering quality", quality, QUALITIES))
        self._simulation, model = simulation, simulation.model
        settings = QUALITIES[quality]
        model.vis.global_.offheight, model.vis.global_.offwidth = largest
        model.vis.quality.shadowsize, model.vis.quality.offsamples = settings.shadow_size, settings.samples
        model.vis.quality.numslices, model.vis.quality.numstacks = settings.slices, settings.slices // 2
        self._far = SHADOW_FAR_M if settings.shadow_size else FAR_M
        gl.context()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._scene = mujoco.MjvScene(model, maxgeom=model.ngeom + SPARE_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = settings.shadow_size > 0
        self._options = mujoco.MjvOption()
        self._perturb = mujoco.MjvPerturb()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self.names = [BACKGROUND, ROBOT, ARENA, *(thing.name for thing in simulation.scene)]
        self._cameras = {model.camera(index).name: index for index in range(model.ncam)}
        owners = simulation.contacts.owner_names()
        self._ids = np.array([self.names.index(owner) for owner in owners], dtype=np.int32)

    def rgb(self, camera: str, height: int, width: int) -> NDArray[np.uint8]:
        """(height, width, 3)"""
        rect = self._draw(camera, height, width)
        image = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, rect, self._context)
        # OpenGL's first row is the picture's lowest.
        return np.ascontiguousarray(image[::-1])

    def depth(self, camera: str, height: int, width: int) -> NDArray[np.float32]:
        """(height, width): metres along the viewing axis."""
        rect = self._draw(camera, height, width, ids=True)
        raw = np.empty((height, width), dtype=np.float32)
        mujoco.mjr_readPixels(None, raw, rect, self._context)
        model = self._simulation.model
        near = float(model.vis.map.znear * model.stat.extent)
        # The depth buffer is reversed: 1 at the near plane, 0 at the far one, linear in 1 / distance.
        share = raw[::-1].astype(np.float64)
        metres = near * self._far / (near + share * (self._far - near))
        return np.minimum(metres, FAR_M).astype(np.float32)

    def segmentation(self, camera: str, height: int, width: int) -> NDArray[np.int32]:
        """(height, width): for each pixel the index into `names` of what it shows."""
        rect = self._draw(camera, height, width, ids=True)
        image = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, rect, self._context)
        codes = image[::-1].astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], dtype=np.int32)
        drawn = self._scene.geoms[: self._scene.ngeom]
        table = np.zeros(self._scene.ngeom + 1, dtype=np.int32)
        for geom in drawn:
            if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                table[geom.segid + 1] = self._ids[geom.objid]
        return np.asarray(table[codes])

    def alone(self, name: str, camera: str, height: int, width: int, *, margin: int = 0) -> NDArray[np.bool_]:
        """(height + 2 margin, width + 2 margin): where a thing would be seen if nothing else were there.

        The margin lies around the picture, which is in the middle: what of the thing the picture's edges cut off.
        """
        if name not in self.names:
            raise UnknownName(unknown("thing", name, self.names))
        if camera not in self._cameras:
            raise UnknownName(unknown("camera", camera, self._cameras))
        model, index = self._simulation.model, self._cameras[camera]
        groups, fovy = model.geom_group.copy(), float(model.cam_fovy[index])
        model.geom_group[self._ids != self.names.index(name)] = UNDRAWN_GROUP
        # The same focal length in pixels, and more pixels.
        wider = (1 + 2 * margin / height) * math.tan(math.radians(fovy) / 2)
        model.cam_fovy[index] = 2 * math.degrees(math.atan(wider))
        try:
            shown = self.segmentation(camera, height + 2 * margin, width + 2 * margin)
            return np.asarray(shown == self.names.index(name))
        finally:
            model.geom_group[:], model.cam_fovy[index] = groups, fovy

    def close(self) -> None:
        self._context.free()

    def _draw(self, camera: str, height: int, width: int, *, ids: bool = False) -> mujoco.MjrRect:
        model, data = self._simulation.model, self._simulation.data
        if camera not in self._cameras:
            raise UnknownName(unknown("camera", camera, self._cameras))
        self._camera.fixedcamid = self._cameras[camera]
        # At every picture: another renderer of this simulation may have set its own.
        model.vis.map.zfar = self._far / model.stat.extent
        # Cameras and lights on the robot move with it.
        mujoco.mj_camlight(model, data)
        mujoco.mjv_updateScene(
            model, data, self._options, self._perturb, self._camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = ids
        self._scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = ids
        # At every picture: another renderer of this process may have bound its own buffer since.
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        rect = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(rect, self._scene, self._context)
        return rect
