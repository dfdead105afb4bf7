"""Known answers of softmax: exp(x - max) / sum."""

from digits import mpmath, show


def softmax(row):
    e = [mpmath.exp(mpmath.mpf(x) - max(row)) for x in row]
    return [v / sum(e) for v in e]


show("four_columns", softmax([1, 2, 3, 4.5]))
first, second = softmax([0, 0]), softmax([1, 3])
show("along_the_first_axis", [first[0], second[0], first[1], second[1]])
