import numpy as np


def impact(problem, units, restitution, law="poisson"):
    imp = np.zeros(len(problem.b))
    for u, e in zip(units, restitution):
        if u.kind == 0 and problem.b[u.row] < 0:
            imp[u.row] = -(1 + e) * problem.b[u.row] / problem.A[u.row, u.row]
    return imp, problem.b + problem.A @ imp
