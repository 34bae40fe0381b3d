"""Accelerations of MuJoCo models with rigid equalities, from its mass matrix, bias and Jacobians alone: not its own
answer, which is soft, but the least-squares solution of M a + J^T l = f, J a = -J_dot v.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Rigid:
    """A model, a consistent random state of it, and the accelerations there."""

    def __init__(self, mujoco: Any, model: Any, *, seed: int, start: np.ndarray, spread: float = 0.2) -> None:
        self.mujoco, self.m, self.d = mujoco, model, mujoco.MjData(model)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)  # its soft answer is not wanted
        rng = np.random.default_rng(seed)
        self.d.qpos[:] = start
        mujoco.mj_integratePos(model, self.d.qpos, rng.uniform(-spread, spread, model.nv), 1.0)
        for _ in range(100):
            mujoco.mj_forward(model, self.d)
            jacobian, _, residual = self.rows()
            if not residual.size or np.abs(residual).max() < 1e-15:
                break
            mujoco.mj_integratePos(model, self.d.qpos, -np.linalg.pinv(jacobian, rcond=1e-9) @ residual, 1.0)
        self.gap = np.abs(residual).max(initial=0.0)
        speeds = rng.uniform(-1, 1, model.nv)
        self.d.qvel[:] = speeds - (np.linalg.pinv(jacobian, rcond=1e-9) @ (jacobian @ speeds) if residual.size else 0)
        mujoco.mj_forward(model, self.d)
        self.accelerations = self._solved()

    def _solved(self) -> np.ndarray:
        m, d = self.m, self.d
        mass = np.zeros((m.nv, m.nv))
        self.mujoco.mj_fullM(m, d, mass)
        jacobian, moved, _ = self.rows()
        force = d.qfrc_passive + d.qfrc_actuator + d.qfrc_applied - d.qfrc_bias
        count = len(moved)
        matrix = np.block([[mass, jacobian.T], [jacobian, np.zeros((count, count))]])
        return np.linalg.lstsq(matrix, np.concatenate([force, -moved]), rcond=1e-13)[0][: m.nv]

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Jacobian, J_dot v and residual of all active equalities."""
        parts = [self._row(k) for k in range(self.m.neq) if self.m.eq_active0[k]]
        if not parts:
            return np.zeros((0, self.m.nv)), np.zeros(0), np.zeros(0)
        jacobians, moved, residuals = zip(*parts, strict=True)
        return np.vstack(jacobians), np.concatenate(moved), np.concatenate(residuals)

    def _row(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m, d, kinds = self.m, self.d, self.mujoco.mjtEq
        one, two, data = int(m.eq_obj1id[k]), int(m.eq_obj2id[k]), m.eq_data[k]
        if m.eq_type[k] == int(kinds.mjEQ_CONNECT):
            a, b = self._point(one, data[:3]), self._point(two, data[3:6])
            return a[0] - b[0], a[1] - b[1], a[2] - b[2]
        if m.eq_type[k] == int(kinds.mjEQ_WELD):
            a, b = self._point(one, data[3:6]), self._point(two, data[:3])
            turned = np.zeros(9)
            self.mujoco.mju_quat2Mat(turned, data[6:10])
            apart = d.xmat[two].reshape(3, 3).T @ d.xmat[one].reshape(3, 3) @ turned.reshape(3, 3)
            vector = np.array([apart[2, 1] - apart[1, 2], apart[0, 2] - apart[2, 0], apart[1, 0] - apart[0, 1]]) / 2
            residual = np.concatenate([a[2] - b[2], d.xmat[two].reshape(3, 3) @ vector])
            turning = self._turn(one), self._turn(two)
            return (
                np.vstack([a[0] - b[0], turning[0][0] - turning[1][0]]),
                np.concatenate([a[1] - b[1], turning[0][1] - turning[1][1]]),
                residual,
            )
        if m.eq_type[k] == int(kinds.mjEQ_JOINT):
            terms = [({int(m.jnt_dofadr[one]): 1.0}, self._coordinate(one))]
            if two >= 0:
                terms.append(({int(m.jnt_dofadr[two]): 1.0}, self._coordinate(two)))
        else:
            terms = [self._tendon(one)] + ([self._tendon(two)] if two >= 0 else [])
        return self._curve(terms, data[:5])

    def _curve(self, terms: list[tuple[dict[int, float], float]], factors: np.ndarray) -> Any:
        """first - polynomial(second) = 0."""
        row = np.zeros(self.m.nv)
        for dof, factor in terms[0][0].items():
            row[dof] += factor
        x = terms[1][1] if len(terms) > 1 else 0.0
        powers = np.arange(5)
        value = float(factors @ x**powers)
        slope = float(factors[1:] @ (powers[1:] * x ** powers[:-1]))
        bend = float(factors[2:] @ (powers[2:] * powers[1:-1] * x ** powers[:-2]))
        speed = 0.0
        for dof, factor in terms[1][0].items() if len(terms) > 1 else ():
            row[dof] -= slope * factor
            speed += factor * self.d.qvel[dof]
        return row[None], np.array([-bend * speed**2]), np.array([terms[0][1] - value])

    def _coordinate(self, joint: int) -> float:
        at = self.m.jnt_qposadr[joint]
        return float(self.d.qpos[at] - self.m.qpos0[at])

    def _tendon(self, tendon: int) -> tuple[dict[int, float], float]:
        found, length, m = {}, 0.0, self.m
        for entry in range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon]):
            joint, factor = int(m.wrap_objid[entry]), float(m.wrap_prm[entry])
            found[int(m.jnt_dofadr[joint])] = factor
            length += factor * self._coordinate(joint)
        return found, length

    def _point(self, body: int, local: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m, d = self.m, self.d
        point = d.xpos[body] + d.xmat[body].reshape(3, 3) @ local
        jacobian, rate, none = (np.zeros((3, m.nv)) for _ in range(3))
        self.mujoco.mj_jac(m, d, jacobian, none, point, body)
        self.mujoco.mj_jacDot(m, d, rate, none, point, body)
        return jacobian, rate @ d.qvel, point

    def _turn(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        m, d = self.m, self.d
        jacobian, rate, none = (np.zeros((3, m.nv)) for _ in range(3))
        self.mujoco.mj_jac(m, d, none, jacobian, d.xpos[body], body)
        self.mujoco.mj_jacDot(m, d, none, rate, d.xpos[body], body)
        return jacobian, rate @ d.qvel

    def body(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        """Acceleration of the centre of mass of a body and its angular acceleration (3), world axes."""
        m, d = self.m, self.d
        linear, angular, linear_rate, angular_rate = (np.zeros((3, m.nv)) for _ in range(4))
        self.mujoco.mj_jac(m, d, linear, angular, d.xipos[body], body)
        self.mujoco.mj_jacDot(m, d, linear_rate, angular_rate, d.xipos[body], body)
        a, v = self.accelerations, d.qvel
        return linear @ a + linear_rate @ v, angular @ a + angular_rate @ v
