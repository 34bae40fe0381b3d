// Torques of the MuJoCo peer as a C callback, so that Python is not entered inside a step (see Law in walk.py).
// Built by mujoco_peer.py; installed as mjcb_control, which MuJoCo calls in every stage of rk4 with that stage's time.

#include <math.h>
#include <mujoco/mujoco.h>

typedef struct { double joint, sensor, gain, cosine, stiffness, damping, amplitude, omega; } Law;

static Law laws[64];
static int count = 0;

void torques_set(int n, const double *table) {
    const Law *rows = (const Law *)table;
    count = n;
    for (int i = 0; i < n; ++i) laws[i] = rows[i];
}

void torques(const mjModel *m, mjData *d) {
    (void)m;
    for (int i = 0; i < count; ++i) {
        const Law w = laws[i];
        const double c = cos(w.omega * d->time), s = sin(w.omega * d->time);
        const double late = w.amplitude * (1 - c) / 2 - d->qpos[(int)w.sensor];
        const double slow = w.amplitude * w.omega * s / 2 - d->qvel[(int)w.sensor];
        d->qfrc_applied[(int)w.joint] = w.gain * (w.cosine * c + w.stiffness * late + w.damping * slow);
    }
}
