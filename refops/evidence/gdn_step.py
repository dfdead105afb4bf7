"""Known answers of gdn_step for one column of the state: the gated delta rule."""

from digits import f32, mpmath, show


def step(q, k, v, g, beta, state, scale):
    state = [s * mpmath.exp(mpmath.mpf(g)) for s in state]
    u = beta * (v - sum(s * x for s, x in zip(state, k)))
    state = [s + x * u for s, x in zip(state, k)]
    return sum(s * x * scale for s, x in zip(state, q)), state


def unit(x):
    root = mpmath.sqrt(sum(mpmath.mpf(v) ** 2 for v in x) + mpmath.mpf("1e-6"))
    return [v / root for v in x]


o, state = step([1, -1], [0.5, 2], 3, -0.75, 0.25, [4, -2], 1)
show("the_state_decays_first o", [o])
show("the_state_decays_first S", state)
scale = f32(1 / 2**0.5)
first, s0 = step(unit([3, 4]), unit([2**-10, 0]), 2, -0.5, 0.5, [1, 2], scale)
second, s1 = step([0, 0], unit([1, 1]), 3, 0.25, 1, [3, 4], scale)
show("normalised_queries_and_keys o", [first, second])
show("normalised_queries_and_keys S", s0 + s1)
