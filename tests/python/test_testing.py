"""check and fuzz from Python."""

import numpy as np
import pytest

import tandem


def test_a_check_compares_within_the_bound(norm, norm_inputs):
    result = tandem.check(norm, norm_inputs, device="emulator")
    assert result
    assert 0 < result.ratio <= 1
    assert result.outputs[0]["elements"] == 5 * 64
    assert result.outputs[0]["bound"] > 0


def test_a_program_is_checked_as_it_was_compiled(norm, norm_inputs):
    program = tandem.compile(norm, target="sm_80", fuse=False)
    assert tandem.check(program, norm_inputs, device="emulator")


def test_an_exact_op_has_no_bound():
    b = tandem.RecipeBuilder("sum")
    x = b.input("x", "float32", ("M", 8))
    b.output("y", b.add(x, x))
    result = tandem.check(b.recipe(), {"x": np.ones((2, 8), "f4")},
                          device="emulator")
    assert result and result.ratio == 0


def test_a_search_finds_nothing_and_repeats_itself():
    once = tandem.fuzz(ops=["softmax"], cases=5, seed=7, jobs=1)
    assert once
    assert once.data == tandem.fuzz(ops=["softmax"], cases=5, seed=7,
                                    jobs=1).data


def test_a_search_that_cannot_run():
    with pytest.raises(ValueError, match="softmux"):
        tandem.fuzz(ops=["softmux"], cases=1)
