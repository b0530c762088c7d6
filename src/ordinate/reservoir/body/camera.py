"""Looking at NeuroMechFly: a film and pictures without a screen, and MuJoCo's own window on one.

Both see through a camera that follows the thorax, and both read MuJoCo's model and data, so they serve every generation of
flygym. Films are H.264 in an mp4, written by the ffmpeg that imageio brings with flygym.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_number
from ordinate.atomic_io import atomic_write
from ordinate.errors import ArgumentError, MissingExtraError, RefusedError
from ordinate.reservoir.body.neuromechfly import INSTALL, NeuroMechFly

__all__ = ["Film", "Window"]

Picture = npt.NDArray[np.uint8]


_DISTANCE_MM, _ELEVATION_DEGREES, _AZIMUTH_DEGREES = 8.5, -28.0, 125.0


class Film:
    """Pictures of a fly, taken while it walks, and the film of them.

    Args:
        fly: whom to follow; the film watches it from now on.
        height: of a picture, pixels.
        width: of a picture, pixels; both even, as H.264 wants.
        pictures_per_second: of the film.
        playback_speed: simulated seconds that a second of film shows: 0.2 is five times slower than life.

    Raises:
        ArgumentError: odd or too small sizes, or rates that are not positive.
        RefusedError: no way to draw without a screen: OpenGL's EGL or OSMesa is missing, or another was chosen first.
    """

    def __init__(
        self,
        fly: NeuroMechFly,
        *,
        height: int = 480,
        width: int = 640,
        pictures_per_second: int = 25,
        playback_speed: float = 0.2,
    ) -> None:
        for name, value in (("height", height), ("width", width)):
            if value < 16 or value % 2:
                raise ArgumentError(name, expected="an even number of pixels, at least 16", got=value, hint="such as 480")
        for name, rate in (("pictures_per_second", pictures_per_second), ("playback_speed", playback_speed)):
            check_number(name, rate, above=0, hint="leave it out for the usual one")
        self.pictures_per_second, self.playback_speed = pictures_per_second, playback_speed
        self.pictures: list[Picture] = []
        self._between = playback_speed / pictures_per_second
        self._renderer = _renderer(fly, height, width)
        self._camera = _following(fly)
        self._started = float(fly.data.time)
        fly.watch(self.look)

    def look(self, fly: NeuroMechFly) -> None:
        """Take a picture if one is due."""
        if float(fly.data.time) - self._started >= len(self.pictures) * self._between - 1e-9:
            self._renderer.update_scene(fly.data, self._camera)
            self.pictures.append(self._renderer.render())

    def save(self, path: str | Path) -> Path:
        """Write the pictures so far as an mp4, atomically.

        Raises:
            RefusedError: no pictures yet.
            MissingExtraError: imageio with its ffmpeg is not installed.
            OutputError: a place that cannot be written to.
        """

        def write(draft: Path) -> None:
            imageio = _imageio()
            rate = self.pictures_per_second
            with imageio.get_writer(draft, format="FFMPEG", fps=rate, codec="libx264", quality=8, macro_block_size=2) as writer:
                for picture in self._taken():
                    writer.append_data(picture)

        return atomic_write(path, write)

    def save_picture(self, path: str | Path, at: int = -1) -> Path:
        """Write one picture, by default the last, as a png.

        Raises:
            As `save`.
        """
        return atomic_write(path, lambda draft: _imageio().imwrite(draft, self._taken()[at], format="PNG"))

    def _taken(self) -> list[Picture]:
        if not self.pictures:
            raise RefusedError("film", expected="pictures", got="none yet", hint="let the fly walk first")
        return self.pictures

    def close(self) -> None:
        """Give back the drawing memory; the pictures stay."""
        self._renderer.close()


class Window:
    """MuJoCo's window on a screen, with a camera that follows the fly; the mouse turns it and zooms.

    Args:
        fly: whom to follow; the window watches it from now on, and shows every picture that is due at `playback_speed`.
        playback_speed: simulated seconds a second, as far as the computer keeps up.

    Raises:
        RefusedError: no screen.
    """

    def __init__(self, fly: NeuroMechFly, *, playback_speed: float = 0.2) -> None:
        check_number("playback_speed", playback_speed, above=0)
        import mujoco.viewer

        if os.name == "posix" and os.uname().sysname == "Linux" and not os.environ.get("DISPLAY"):
            raise RefusedError("window", expected="a screen", got="no DISPLAY", hint="take a film instead, or use xvfb-run")
        try:
            self._viewer = mujoco.viewer.launch_passive(fly.model, fly.data, show_left_ui=False, show_right_ui=False)
        except Exception as problem:  # GLFW and macOS say it each in their own way
            raise RefusedError(
                "window", expected="a screen that MuJoCo can open", got=str(problem), hint="take a film instead"
            ) from problem
        with self._viewer.lock():
            _follow(self._viewer.cam, fly)
        self._between = playback_speed / 60
        self._shown = -math.inf
        fly.watch(self.look)

    @property
    def open(self) -> bool:
        """Whether nobody has closed it yet."""
        return bool(self._viewer.is_running())

    def look(self, fly: NeuroMechFly) -> None:
        """Show the fly as it is now, if a picture is due."""
        if self.open and float(fly.data.time) - self._shown >= self._between:
            self._shown = float(fly.data.time)
            self._viewer.sync()

    def close(self) -> None:
        """Close the window."""
        self._viewer.close()


def _imageio() -> Any:
    try:
        import imageio.v2
    except ImportError as problem:
        raise MissingExtraError("film", expected="imageio with ffmpeg", got=str(problem), hint=INSTALL) from None
    return imageio.v2


def _renderer(fly: NeuroMechFly, height: int, width: int) -> Any:
    import mujoco

    buffer = fly.model.vis.global_
    buffer.offheight, buffer.offwidth = max(buffer.offheight, height), max(buffer.offwidth, width)
    try:
        return mujoco.Renderer(fly.model, height, width)
    except Exception as problem:  # each OpenGL library has errors of its own
        raise RefusedError(
            "film",
            expected="OpenGL without a screen",
            got=str(problem),
            hint="set MUJOCO_GL=egl (or osmesa) before Python starts, and install libegl1 or libosmesa6",
        ) from problem


def _following(fly: NeuroMechFly) -> Any:
    import mujoco

    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultCamera(camera)
    _follow(camera, fly)
    return camera


def _follow(camera: Any, fly: NeuroMechFly) -> None:
    import mujoco

    camera.type, camera.trackbodyid, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_TRACKING, fly.thorax, -1
    camera.distance, camera.elevation, camera.azimuth = _DISTANCE_MM, _ELEVATION_DEGREES, _AZIMUTH_DEGREES
