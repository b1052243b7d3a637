"""MuJoCo, imported here and nowhere else: it reads MUJOCO_GL then, and dies on a backend whose library is missing.

Nothing that only declares (scenes, tasks, perturbations) needs it, so that `robodx.wrap` works beside any MuJoCo, and
leaves MUJOCO_GL alone.
"""

from robodx.errors import UserError
from robodx.sim import gl

gl.choose_backend()

import mujoco as mujoco  # noqa: E402

# Installed without its dependencies, RoboDx may stand beside an older one.
if int(mujoco.__version__.split(".")[0]) < 4:
    raise UserError(
        f"RoboDx's own tasks need MuJoCo 4.0 or newer, and {mujoco.__version__} is installed: "
        "only robodx.wrap works beside it. For the rest, install robodx in an environment of its own."
    )
