"""Known answers of rope: rotate-half by angles rounded to f32."""

from digits import f32, mpmath, show


def turn(x, angles):
    half = len(angles)
    y = list(map(mpmath.mpf, x))
    for i, a in enumerate(angles):
        c, s = mpmath.cos(a), mpmath.sin(a)
        y[i] = x[i] * c - x[i + half] * s
        y[i + half] = x[i + half] * c + x[i] * s
    return y


one, half = mpmath.mpf(1), mpmath.mpf("0.5")
show("halves_turn_together", turn([1, 2, 3, 4], [one, half]))
far = [f32(10000.0 ** (-i / 2)) for i in range(2)]
show("default_frequencies_far_out",
     [v for p in (131071, 1048576)
      for v in turn([1, 0, 0, 1], [f32(p * f) for f in far])])
show("the_rest_is_copied", turn([1, 2], [one]))
two = mpmath.mpf(2)
show("turned_by_2", turn([1, 0], [two]) + turn([0, 1], [two]))
show("cos_sin_2", turn([1, 0], [two]))
show("cos_sin_2_24", turn([1, 0], [mpmath.mpf(2**24)]))
