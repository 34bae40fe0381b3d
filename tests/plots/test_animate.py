"""The renderer obeys geometry, and movies have the length, speed and size that were asked for."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from plots.machines import Pendulum

from kompono import Result, simulate
from kompono.edges.animate import animate, still
from kompono.edges.animate.camera import NAMED, looking_at
from kompono.edges.animate.raster import fragments, nearest
from kompono.edges.animate.stage import nice
from kompono.errors import RunError
from kompono.result import extras

Z = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def swing() -> Result:
    return simulate(Pendulum(), **Pendulum.run_defaults)


def flat(*points: tuple[float, float], depth: float = -1.0) -> np.ndarray:
    """One triangle (1, 3, 3) on the screen."""
    return np.array([[(*point, depth) for point in points]])


def test_a_triangle_covers_its_area() -> None:
    a, b, c = (10.21, 10.73), (90.64, 20.17), (30.38, 80.92)
    area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2
    found = fragments(flat(a, b, c), np.zeros((1, 3)), 100, 100)
    assert len(found.pixel) == pytest.approx(area, rel=5e-3)
    assert len(set(found.pixel.tolist())) == len(found.pixel)


def test_triangles_that_share_edges_cover_each_pixel_once() -> None:
    middle, rim = (50.3, 49.7), [(50 + 45 * np.cos(t), 50 + 45 * np.sin(t)) for t in np.linspace(0, 2 * np.pi, 14)]
    fan = np.concatenate([flat(middle, a, b) for a, b in itertools.pairwise(rim)])
    found = fragments(fan, np.zeros((13, 3)), 100, 100)
    assert len(set(found.pixel.tolist())) == len(found.pixel)
    area = 13 / 2 * 45**2 * np.sin(2 * np.pi / 13)
    assert len(found.pixel) == pytest.approx(area, rel=0.01)


def test_shade_is_linear_and_what_is_outside_is_cut_off() -> None:
    triangle = flat((-50, -50), (150, -50), (-50, 150))
    shades = np.array([[-50.0, 150.0, -50.0]])  # x itself
    found = fragments(triangle, shades, 40, 30)
    assert len(found.pixel) == 40 * 30
    np.testing.assert_allclose(found.shade, found.pixel % 40 + 0.5, atol=1e-4)


def test_the_nearer_triangle_is_seen() -> None:
    pair = np.concatenate([flat((0, 0), (20, 0), (0, 20), depth=-1 / 5), flat((0, 0), (10, 0), (0, 10), depth=-1 / 2)])
    found = fragments(pair, np.zeros((2, 3)), 20, 20)
    seen = found.triangle[nearest(found, np.zeros(400))]
    assert np.sum(seen == 1) == np.sum(found.triangle == 1)
    assert np.sum(seen == 0) == np.sum(found.triangle == 0) - np.sum(found.triangle == 1)


@pytest.mark.parametrize("direction", [*NAMED, "30,-10", (200.0, 45.0)])
def test_the_camera_has_everything_in_view(direction: object) -> None:
    points = np.random.default_rng(1).normal(size=(200, 3)) * (3, 1, 0.2) + (5, -2, 1)
    seen = looking_at(points, direction, Z, 320, 200).project(points)
    assert np.all(seen[:, :2] > 0)
    assert np.all(seen[:, :2] < (320, 200))
    assert max(np.ptp(seen[:, 0]) / 320, np.ptp(seen[:, 1]) / 200) > 0.8  # and not from too far away


def test_from_the_front_x_is_right_and_z_is_up() -> None:
    points = np.array([(0.0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0)])
    origin, x, z, y = looking_at(points, "front", Z, 320, 200).project(points)
    assert x[0] > origin[0] + 10
    assert z[1] < origin[1] - 10
    assert y[2] > origin[2]  # farther away


def test_the_bar_is_where_the_result_says(swing: Result) -> None:
    """The centre of the green pixels, seen from the front, moves as the centre of the bar does."""
    centres, places = [], []
    for time in (0.0, 0.2, 0.4):
        image = still(swing, time, camera="front", size=(200, 160)).astype(int)
        rows, columns = np.nonzero(image[..., 1] > image[..., 0] + image[..., 2] + 40)
        centres.append((columns.mean(), -rows.mean()))
        row = swing.at(time)
        places.append((row["bar.position.x"], row["bar.position.z"]))
    moved, went = np.diff(centres, axis=0), np.diff(places, axis=0)
    scale = np.linalg.norm(moved) / np.linalg.norm(went)
    np.testing.assert_allclose(moved, scale * went, atol=0.06 * np.abs(moved).max())


def test_a_gif_has_its_frames_and_its_curve(swing: Result, tmp_path: Path) -> None:
    from PIL import Image

    path = swing.animate(tmp_path / "a.gif", speed=0.5, fps=10, size=(161, 121), curves="pin.angle", progress=False)
    with Image.open(path) as movie:
        assert movie.n_frames == 9  # 0.8 s of movie, both ends
        frames = []
        for k in (0, 8):
            movie.seek(k)
            assert movie.info["duration"] == 100
            frames.append(np.asarray(movie.convert("RGB")).astype(int))
    assert frames[0].shape[1] == 160
    assert frames[0].shape[0] > 120 + 100
    strips = [frame[120:] for frame in frames]
    marks = [np.nonzero((np.abs(strip - (213, 94, 0)).sum(axis=2) < 60).sum(axis=0) > 30)[0].mean() for strip in strips]
    assert marks[1] > marks[0] + 60  # the line goes with the time
    assert np.abs(frames[0][:120] - frames[1][:120]).max() > 100


def test_an_mp4_has_its_speed_and_size(swing: Result, tmp_path: Path) -> None:
    import imageio_ffmpeg

    path = animate(swing, tmp_path / "a.mp4", fps=25, size=(96, 64), camera=(-90, 10), progress=False)
    reader = imageio_ffmpeg.read_frames(str(path))
    about = next(reader)
    assert (about["size"], about["fps"]) == ((96, 64), 25)
    assert sum(1 for _ in reader) == 11


def test_wrong_requests(swing: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match="iso, front"):
        swing.animate(tmp_path / "a.gif", camera="nowhere")
    with pytest.raises(RunError, match="speed 0 is not positive"):
        swing.animate(tmp_path / "a.gif", speed=0)
    with pytest.raises(RunError, match="Raise the speed"):
        swing.animate(tmp_path / "a.gif", speed=1e-9)
    with pytest.raises(RunError, match=r"Record the channels"):
        swing.select("pin.angle").animate(tmp_path / "a.gif")
    real = extras.importlib.import_module

    def absent(name: str) -> object:
        if name == "imageio_ffmpeg":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    with pytest.raises(RunError, match=r"imageio_ffmpeg is not installed\. Try: pip install 'kompono\[animate\]'"):
        swing.animate(tmp_path / "a.mp4")


@pytest.mark.parametrize(("length", "expected"), [(1.0, 1.0), (0.7, 0.5), (4.9, 2.0), (0.0123, 0.01), (99, 50)])
def test_grids_have_round_spacings(length: float, expected: float) -> None:
    assert nice(length) == pytest.approx(expected)
