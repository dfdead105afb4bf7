// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tile_sums(const int *x, int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = x[threadIdx.x];
  for (int d = tile.size() / 2; d; d /= 2)
    v += tile.shfl_down(v, d);
  if (tile.thread_rank() == 0)
    out[threadIdx.x / 8] = v;
}

extern "C" __global__ void tile_reduce(const int *x, int *out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int most = cg::reduce(tile, x[threadIdx.x], cg::greater<int>());
  int before = cg::exclusive_scan(tile, x[threadIdx.x]);
  out[threadIdx.x] = most * 1000 + before;
}

// Threads that take the branch share one atomic.
extern "C" __global__ void coalesced_append(const int *x, int *out,
                                            int *count) {
  int v = x[threadIdx.x];
  if (v % 3 == 0) {
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0)
      base = atomicAdd(count, (int)active.size());
    base = active.shfl(base, 0);
    out[base + active.thread_rank()] = v;
  }
}

extern "C" __global__ void block_groups(const int *x, int *out) {
  __shared__ int buffer[64];
  auto block = cg::this_thread_block();
  auto half = cg::tiled_partition<32>(block);
  buffer[block.thread_rank()] = x[block.thread_rank()];
  half.sync();
  int neighbour = buffer[block.thread_rank() ^ 1];
  block.sync();
  buffer[block.thread_rank()] = neighbour;
  block.sync();
  out[block.thread_rank()] = buffer[63 - block.thread_rank()];
}
