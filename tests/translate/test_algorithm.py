"""Instructions of functions, as they are read out of what CasADi writes."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kompono.translate.algorithm import reads


def test_what_is_read_is_what_matters() -> None:
    """The places of an argument that instructions load are those its outputs depend on."""
    random = np.random.default_rng(0)
    for _ in range(20):
        x = ca.SX.sym("x", 6)
        used = [x[k] for k in np.flatnonzero(random.random(6) < 0.5).tolist()] or [x[0]]
        value = sum((ca.sin(one) * 1.5 for one in used), ca.SX(0))
        function = ca.Function("f", [x], [value, 2 * used[0]])
        for k in range(6):
            assert reads(function, [k]) == ca.depends_on(ca.vertcat(value), x[k])
        assert not reads(function, [])
