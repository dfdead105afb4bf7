"""Recipes: building, reading, writing, and what is wrong with them."""

import pytest

import tandem


def two_outputs():
    b = tandem.RecipeBuilder("residual-norm")
    x = b.input("x", "bfloat16", ("M", 64))
    r = b.input("r", "bfloat16", ("M", 64))
    w = b.input("w", "bfloat16", (64,))
    h = b.add(x, r)
    b.output("h", h)
    b.output("y", b.rmsnorm(h, w))
    return b.recipe()


def test_a_builder_infers_types_step_by_step():
    b = tandem.RecipeBuilder("r")
    x = b.input("x", "bfloat16", ("M", 64))
    y = b.add(x, x, out_dtype="float32")
    assert (y.dtype, y.shape) == ("float32", ("M", 64))
    ids = b.sample_argmax(y)
    assert (ids.dtype, ids.shape) == ("int32", ("M",))


def test_an_output_that_is_read_later_is_kept_and_copied():
    recipe = two_outputs()
    assert [o.name for o in recipe.outputs] == ["h", "y"]
    assert [s["op"].lower() for s in recipe.steps] == ["add", "rmsnorm", "copy"]
    assert recipe.warnings == ()


def test_json_round_trips():
    recipe = two_outputs()
    assert tandem.Recipe.from_json(recipe.to_json()) == recipe
    assert tandem.Recipe.from_dict(recipe.to_dict()) == recipe
    assert recipe.inputs[0] == tandem.Tensor("x", "bfloat16", ("M", 64))


def test_insn_round_trips():
    recipe = two_outputs()
    assert "insn.rmsnorm" in recipe.insn
    assert tandem.Recipe.from_insn(recipe.insn) == recipe


def test_every_sample_loads(source):
    samples = sorted((source / "samples" / "recipes").glob("*.json"))
    assert len(samples) >= 6
    for path in samples:
        assert tandem.Recipe.load(path).steps


def test_all_errors_come_at_once_with_their_place():
    with pytest.raises(ValueError) as caught:
        tandem.Recipe.from_dict({
            "name": "bad",
            "inputs": [{"name": "x", "dtype": "float32", "shape": ["M", 4]}],
            "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", 4]}],
            "recipe": {"steps": [
                {"op": "rmsnrom", "args": [{"in": 0}], "out": 0},
                {"op": "gelu", "args": [{"in": 7}], "out": "final"},
            ]},
        }, file="bad.json")
    text = str(caught.value)
    assert "bad.json: steps[0].op: " in text and "'rmsnorm'" in text
    assert "bad.json: steps[1].args[0]" in text


@pytest.mark.parametrize("wrong, error, text", [
    (lambda b, x: b.rmsnrom(x), KeyError, "did you mean 'rmsnorm'"),
    (lambda b, x: b.rmsnorm(x), ValueError, "takes 2 operands"),
    (lambda b, x: b.gelu(x, aproximate="tanh"), ValueError,
     "did you mean 'approximate'"),
    (lambda b, x: b.softmax(x, dim=5), ValueError, "dim"),
    (lambda b, x: b.mul(x, scale=float("nan")), ValueError, "finite"),
    (lambda b, x: b.copy(x, out_dtype="float12"), ValueError, "float12"),
    (lambda b, x: b.output("y", x), ValueError, "copy it"),
])
def test_a_wrong_step_raises_where_it_is_written(wrong, error, text):
    b = tandem.RecipeBuilder("r")
    x = b.input("x", "float32", ("M", 4))
    with pytest.raises(error, match=text):
        wrong(b, x)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(OSError):
        tandem.Recipe.load(tmp_path / "none.json")
