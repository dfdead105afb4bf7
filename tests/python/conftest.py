"""What all Python tests share."""

import pathlib

import numpy as np
import pytest

import tandem

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """A test neither reads nor fills the cache of whoever runs it."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(folder))


@pytest.fixture
def source():
    """The project's folder."""
    return SOURCE


@pytest.fixture
def norm():
    """rmsnorm over rows of 64 f32."""
    b = tandem.RecipeBuilder("norm")
    x = b.input("x", "float32", ("M", 64))
    w = b.input("w", "float32", (64,))
    b.output("y", b.rmsnorm(x, w, eps=1e-6))
    return b.recipe()


@pytest.fixture
def norm_inputs():
    rng = np.random.default_rng(1)
    return {"x": rng.standard_normal((5, 64), dtype="f4"),
            "w": rng.standard_normal(64, dtype="f4")}
