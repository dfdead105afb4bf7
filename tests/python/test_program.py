"""Compiling, looking at the stages, and running."""

import numpy as np
import pytest

import tandem


# How far an rmsnorm of 64 columns in float32 may be from the reference, relative
# to the element: with u = 2^-24, a sum of depth h = 64 / 32 + 32, which the root
# halves, costs (h + 3) u / 2; rsqrt.approx 2^-22.9 (PTX ISA); three products 3 u;
# the last rounding of the kernel and that of the reference u each.
RMSNORM_64 = ((34 + 3) / 2 + 2.0**1.1 + 3 + 2) * 2.0**-24


@pytest.fixture(params=["sm_80", "sm_90a"])
def target(request):
    return request.param


def test_every_stage_can_be_read(norm, target):
    program = tandem.compile(norm, target=target)
    stages = program.stages
    assert list(stages) == ["insn", "tile", "nvvm", "llvm", "ptx"]
    assert "insn.rmsnorm" in stages["insn"]
    assert "tile." in stages["tile"]
    assert f".target {target}" in stages["ptx"]
    launch = program.launches[0]
    assert f".entry {launch.kernel}(" in launch.ptx
    assert launch.record["kernel"] == launch.kernel
    assert launch.steps == (0,)
    assert program.contract["steps"][0]["op"].lower() == "rmsnorm"


def test_unfused_steps_get_a_kernel_each(norm):
    b = tandem.RecipeBuilder("chain")
    x = b.input("x", "float32", ("M", 64))
    b.output("y", b.gelu(b.add(x, x)))
    recipe = b.recipe()
    assert len(tandem.compile(recipe).launches) == 1
    apart = tandem.compile(recipe, fuse=False)
    assert len(apart.launches) == 2
    assert apart.explain
    inputs = {"x": np.linspace(-3, 3, 192, dtype="f4").reshape(3, 64)}
    fused = tandem.compile(recipe).run(inputs, device="emulator")
    assert np.array_equal(fused, apart.run(inputs, device="emulator"))


def test_a_run_agrees_with_the_reference(norm, norm_inputs, target):
    program = tandem.compile(norm, target=target)
    y = program(**norm_inputs, device="emulator")
    expected = tandem.ref.rmsnorm(**norm_inputs)
    assert y.dtype == np.float32 and y.shape == (5, 64)
    assert np.allclose(y, expected, rtol=RMSNORM_64, atol=0)


def test_one_program_runs_all_shapes_and_strides(norm):
    program = tandem.compile(norm, target="sm_80")
    rng = np.random.default_rng(3)
    w = rng.standard_normal(64, dtype="f4")
    wide = rng.standard_normal((7, 131), dtype="f4")
    for x in (wide[:, 1:65], wide[:0, :64], wide[::2, 2:66], wide[::-1, :64],
              np.broadcast_to(wide[0, :64], (4, 64)),
              np.asfortranarray(wide[:, :64])):
        y = program(x=x, w=w, device="emulator")
        assert np.allclose(y, tandem.ref.rmsnorm(x, w), rtol=RMSNORM_64, atol=0)


def test_several_outputs_come_as_a_tuple():
    b = tandem.RecipeBuilder("pair")
    x = b.input("x", "float32", ("M", 8))
    h = b.add(x, x)
    b.output("twice", h)
    b.output("id", b.sample_argmax(h))
    twice, ids = tandem.compile(b.recipe())(
        x=np.eye(8, dtype="f4")[:3], device="emulator")
    assert np.array_equal(twice, 2 * np.eye(8, dtype="f4")[:3])
    assert ids.dtype == np.int32 and ids.tolist() == [0, 1, 2]


def test_small_floats_and_their_bits():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b = tandem.RecipeBuilder("silu")
    gate = b.input("gate", "bfloat16", ("M", 16))
    up = b.input("up", "bfloat16", ("M", 16))
    b.output("y", b.silu_mul(gate, up))
    program = tandem.compile(b.recipe())
    g = np.linspace(-4, 4, 32).reshape(2, 16).astype(ml_dtypes.bfloat16)
    y = program(gate=g, up=g, device="emulator")
    assert y.dtype == ml_dtypes.bfloat16
    bits = program(gate=g.view("u2"), up=g.view("u2"), device="emulator")
    assert np.array_equal(y, bits)


def test_mistakes_in_a_call(norm, norm_inputs):
    program = tandem.compile(norm, target="sm_80")
    x, w = norm_inputs["x"], norm_inputs["w"]
    with pytest.raises(ValueError, match="'w' is missing"):
        program(x=x, device="emulator")
    with pytest.raises(KeyError, match="no input 'v'"):
        program(x=x, w=w, v=w, device="emulator")
    with pytest.raises(ValueError, match="float64 array, expected float32"):
        program(x=x.astype("f8"), w=w, device="emulator")
    with pytest.raises(ValueError, match="x"):
        program(x=x[:, :63], w=w, device="emulator")
    with pytest.raises(KeyError, match="'gpu'"):
        program(x=x, w=w, device="gpu")


def test_a_bad_index_names_its_row():
    b = tandem.RecipeBuilder("embed")
    ids = b.input("ids", "int32", ("N",))
    table = b.input("table", "float32", ("V", 8))
    b.output("y", b.embed(ids, table))
    program = tandem.compile(b.recipe())
    with pytest.raises(ValueError, match="row 1"):
        program(ids=[0, 3, 1], table=np.ones((3, 8), "f4"), device="emulator")


def test_mistakes_in_options(norm):
    with pytest.raises((ValueError, RuntimeError), match="sm_75"):
        tandem.compile(norm, target="sm_75")
    with pytest.raises(ValueError, match="'N'"):
        tandem.compile(norm, dims={"N": 4})
    with pytest.raises((ValueError, RuntimeError), match="no_such_knob"):
        tandem.compile(norm, set={"no_such_knob": 1})


def test_no_gpu_is_said_clearly():
    try:
        info = tandem.device_info("cuda")
    except RuntimeError as e:
        assert str(e).startswith("cuda: ")
    else:
        assert info["kind"] == "cuda"
    assert tandem.device_info("emulator")["kind"] == "emulator"
