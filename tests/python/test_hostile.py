"""Bad arrays and texts: a real exception that says what is wrong."""

import threading

import numpy as np
import pytest

import tandem


def test_swapped_bytes_are_no_other_numbers(norm, norm_inputs):
    x, w = norm_inputs["x"], norm_inputs["w"]
    swapped = x.astype(">f4")
    program = tandem.compile(norm)
    with pytest.raises(ValueError, match=r"x: >f4 array, expected float32"):
        program(x=swapped, w=w, device="emulator")
    with pytest.raises(ValueError, match="bytes are swapped"):
        tandem.ref.rmsnorm(swapped, w)
    b = tandem.RecipeBuilder("bits")
    h = b.input("h", "bfloat16", (4,))
    b.output("y", b.add(h, h))
    with pytest.raises(ValueError, match="expected bfloat16"):
        tandem.compile(b.recipe())(h=np.ones(4, ">u2"), device="emulator")


@pytest.mark.parametrize("value, message", [
    ([0.5], "expected whole numbers for int32, got float64"),
    ([2**40], "expected -2147483648 to 2147483647"),
    ([2**70], "expected numbers, got object"),
    (["a"], "expected numbers, got <U1"),
    ([{}], "expected numbers, got object"),
    ([[0, 1], [2]], "inhomogeneous"),
    ([1j], "expected numbers, got complex128"),
])
def test_plain_numbers_that_do_not_fit(value, message):
    b = tandem.RecipeBuilder("embed")
    ids = b.input("ids", "int32", ("N",))
    table = b.input("table", "float32", ("V", 8))
    b.output("y", b.embed(ids, table))
    with pytest.raises(ValueError, match=message):
        tandem.compile(b.recipe())(ids=value, table=np.ones((3, 8), "f4"),
                                   device="emulator")


@pytest.mark.parametrize("array", [
    np.zeros((5, 64), "f8"), np.zeros((5, 64), object), np.zeros((5, 64), "c8"),
    np.zeros((5, 64), bool), np.zeros(5, [("a", "f4")]),
    np.zeros((1,) * 9, "f4"), np.float32(1), np.zeros((5, 63), "f4"),
])
def test_arrays_that_do_not_fit(norm, norm_inputs, array):
    program = tandem.compile(norm)
    with pytest.raises(ValueError, match="x|rank 9"):
        program(x=array, w=norm_inputs["w"], device="emulator")
    with pytest.raises(ValueError, match="x|rank 9"):
        tandem.check(norm, {"x": array, "w": norm_inputs["w"]}, device="emulator")


@pytest.mark.parametrize("text", [
    "", "{", "[]", "null", "[" * 100000, '{"name": "a", "name": "b"}', "{}\0",
    '{"name": "\ud800"}', "\ufeff",
])
def test_texts_that_are_no_recipes(text):
    with pytest.raises(ValueError):
        tandem.Recipe.from_json(text)
    with pytest.raises(ValueError):
        tandem.Recipe.from_insn(text or "nothing")


def test_options_that_are_none(norm):
    for options in ({"dims": {"M": -1}}, {"dims": {"M": 2**63}},
                    {"dims": {"M": 1.5}}, {"dims": {"M": [[]] * 5}}):
        with pytest.raises(ValueError, match="expected a size"):
            tandem.compile(norm, **options)
    with pytest.raises((ValueError, RuntimeError), match="only matmul"):
        tandem.compile(norm, set={"tile_m": 64})
    with pytest.raises((ValueError, RuntimeError), match="--cases"):
        tandem.fuzz(ops=["add"], cases=-1)
    with pytest.raises((KeyError, ValueError)):
        tandem.device_info("emu\0lator")


def test_threads_share_a_device(norm, norm_inputs):
    program = tandem.compile(norm)
    alone = program(**norm_inputs, device="emulator")
    results = [None] * 8

    def run(i):
        results[i] = program(**norm_inputs, device="emulator")

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, alone) for result in results)
