# mypy: ignore-errors
"""A matrix product in Triton with TMA descriptors, autotuned.

Persistent, grouped tile order, C through a descriptor: what Triton's users reach
on Hopper without leaving its language.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def _set_blocks(arguments):
    """Give the descriptors the blocks of the configuration that is tried."""
    m, n, k = (arguments[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    arguments["x"].block_shape = [m, k]
    arguments["w"].block_shape = [n, k]
    arguments["y"].block_shape = [m, n]


def _configs():
    shapes = [(128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (128, 128, 64, 4, 8),
              (128, 128, 64, 4, 4), (128, 128, 128, 3, 8), (256, 128, 64, 3, 8),
              (64, 128, 64, 5, 4), (64, 64, 128, 5, 4), (64, 256, 64, 4, 4),
              (128, 64, 64, 5, 4)]
    return [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k,
                           "GROUP": 8}, num_stages=stages, num_warps=warps,
                          pre_hook=_set_blocks)
            for m, n, k, stages, warps in shapes]


@triton.autotune(configs=_configs(), key=["M", "N", "K"])
@triton.jit
def _with_descriptors(x, w, y, M, N, K, PROGRAMS: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    wide = GROUP * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS,
                         flatten=True):
        first = (tile // wide) * GROUP
        height = min(tiles_m - first, GROUP)
        at_m = (first + (tile % wide) % height) * BLOCK_M
        at_n = ((tile % wide) // height) * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for block in range(tl.cdiv(K, BLOCK_K)):
            a = x.load([at_m, block * BLOCK_K])
            b = w.load([at_n, block * BLOCK_K])
            total = tl.dot(a, b.T, total)
        y.store([at_m, at_n], total.to(y.dtype))


def _plain_configs():
    shapes = [(16, 128, 128, 4, 4), (16, 64, 256, 4, 4), (16, 32, 256, 4, 2),
              (64, 64, 64, 4, 4), (128, 128, 64, 3, 8)]
    return [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k},
                          num_stages=stages, num_warps=warps)
            for m, n, k, stages, warps in shapes]


@triton.autotune(configs=_plain_configs(), key=["M", "N", "K"])
@triton.jit
def _with_pointers(x, w, y, M, N, K, BLOCK_M: tl.constexpr,
                   BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(x + rows[:, None] * K + (k + depth)[None, :],
                    mask=(rows < M)[:, None] & (k + depth < K)[None, :],
                    other=0.0)
        b = tl.load(w + cols[None, :] * K + (k + depth)[:, None],
                    mask=(cols < N)[None, :] & (k + depth < K)[:, None],
                    other=0.0)
        total = tl.dot(a, b, total)
    tl.store(y + rows[:, None] * N + cols[None, :],
             total.to(y.dtype.element_ty),
             mask=(rows < M)[:, None] & (cols < N)[None, :])


def multiply(x, w):
    """Return x wᵀ for x [M, K] and w [N, K] of a 16-bit type."""
    m, k = x.shape
    n = w.shape[0]
    y = torch.empty((m, n), device=x.device, dtype=x.dtype)
    # TMA wants strides of 16 bytes; few rows waste its tiles.
    if k % 8 or n % 8 or m <= 16:
        _with_pointers[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]),
                                     triton.cdiv(n, meta["BLOCK_N"]))](
            x, w, y, m, n, k)
        return y
    programs = torch.cuda.get_device_properties(x.device).multi_processor_count
    blocks = [1, 1]
    descriptors = [TensorDescriptor(one, one.shape, one.stride(), blocks)
                   for one in (x, w, y)]
    _with_descriptors[lambda meta: (min(
        programs, triton.cdiv(m, meta["BLOCK_M"])
        * triton.cdiv(n, meta["BLOCK_N"])),)](*descriptors, m, n, k, programs)
    return y


def make(recipe):
    """Return a recipe that is one matrix product, and what runs, in words."""
    steps = recipe["recipe"]["steps"]
    inputs = recipe["inputs"]
    plain = (len(steps) == 1 and steps[0]["op"] in ("GEMM_TILE", "GEMV_TILE")
             and len(inputs) == 2 and len(inputs[0]["shape"]) == 2
             and inputs[1]["dtype"] in ("bfloat16", "float16")
             and steps[0].get("params", {}).get("weight_layout", "nk") == "nk")
    if not plain:
        raise NotImplementedError("only a plain matrix product")
    return (lambda x, w: (multiply(x, w),),
            f"triton {triton.__version__}, best of its configurations")
