// arch: sm_90a
// Hopper's asynchronous copies, barriers and products, written by hand and with
// the toolkit's wrappers.
#include "hopper.cuh"

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_bf16.h>

using namespace hopper;
namespace cg = cooperative_groups;

/// In with a copy, out with a copy.
extern "C" __global__ void scale_by_copies(const float *x, float *y) {
  __shared__ alignas(128) float tile[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fenceInit();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, sizeof tile);
    load(tile, x + blockIdx.x * 128, sizeof tile, &full);
  }
  wait(&full, 0);
  tile[threadIdx.x] *= 2;
  fenceProxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    store(y + blockIdx.x * 128, tile, sizeof tile);
    commitStores();
    waitStoresRead<0>();
  }
}

/// The same with the library's barrier.
extern "C" __global__ void scale_by_library(const float *x, float *y) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(128) float tile[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::experimental::cp_async_bulk_global_to_shared(
        tile, x + blockIdx.x * 128, sizeof tile, full);
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof tile);
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x] * 3;
}

/// One warp loads, two add up; two stages.
extern "C" __global__ void sum_through_ring(const int *x, int *sums, int tiles) {
  __shared__ alignas(128) int stage[2][64];
  __shared__ uint64_t full[2], empty[2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      init(&full[s], 1);
      init(&empty[s], 2);
    }
    fenceInit();
  }
  __syncthreads();
  if (warp == 0) {
    if (lane == 0)
      for (int t = 0; t < tiles; ++t) {
        wait(&empty[t % 2], t / 2 % 2 ^ 1);
        expect(&full[t % 2], sizeof stage[0]);
        load(stage[t % 2], x + t * 64, sizeof stage[0], &full[t % 2]);
      }
    return;
  }
  int sum = 0;
  for (int t = 0; t < tiles; ++t) {
    wait(&full[t % 2], t / 2 % 2);
    sum += stage[t % 2][(warp - 1) * 32 + lane];
    __syncwarp();
    if (lane == 0)
      arrive(&empty[t % 2]);
  }
  sums[(warp - 1) * 32 + lane] = sum;
}

/// Copies of each thread that a barrier of the library waits for.
extern "C" __global__ void copies_of_threads(const int *x, int *y) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(16) int tile[256];
  __shared__ barrier all;
  if (threadIdx.x == 0) {
    init(&all, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  cuda::memcpy_async(&tile[4 * threadIdx.x], &x[4 * threadIdx.x],
                     cuda::aligned_size_t<16>(16), all);
  all.arrive_and_wait();
  for (int i = 0; i < 4; ++i)
    y[i * blockDim.x + threadIdx.x] = tile[255 - (i * blockDim.x + threadIdx.x)];
}

/// A 32 x 32 box, transposed on its way out.
extern "C" __global__ void transpose_box(const int *x, int *y,
                                         const __grid_constant__ CUtensorMap map,
                                         int rows) {
  __shared__ alignas(128) int tile[32][32];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fenceInit();
    expect(&full, sizeof tile);
    loadTile(tile, &map, blockIdx.x * 32, blockIdx.y * 32, &full);
  }
  __syncthreads();
  wait(&full, 0);
  for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
    int row = i / 32, column = i % 32;
    int to = (blockIdx.x * 32 + row) * rows + blockIdx.y * 32 + column;
    if (blockIdx.y * 32 + column < rows)
      y[to] = tile[column][row];
  }
}

/// c[64][16] = a[64][64] b[16][64]^T; operands laid out by the threads.
extern "C" __global__ void product_of_threads(const __nv_bfloat16 *a,
                                              const __nv_bfloat16 *b, float *c) {
  __shared__ alignas(128) __nv_bfloat16 sa[64 * 64], sb[16 * 64];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 64; i += 128) {
    int row = i / 64, k = i % 64;
    sa[(k / 8 * 8 + row / 8) * 64 + row % 8 * 8 + k % 8] = a[i];
  }
  for (int i = t; i < 16 * 64; i += 128) {
    int row = i / 64, k = i % 64;
    sb[(k / 8 * 2 + row / 8) * 64 + row % 8 * 8 + k % 8] = b[i];
  }
  fenceProxy();
  __syncthreads();
  float d[8] = {};
  keep(d);
  fenceProducts();
  for (int k = 0; k < 4; ++k)
    multiply(d, plainDescriptor(sa + k * 1024, 1024, 128),
             plainDescriptor(sb + k * 256, 256, 128));
  commitProducts();
  waitProducts<0>();
  for (int i = 0; i < 8; ++i)
    c[rowOf(t, i) * 16 + columnOf(t, i)] = d[i];
}

/// Signed bytes, and eight-bit floats of the same layout.
extern "C" __global__ void product_of_bytes(const int8_t *a, const int8_t *b,
                                            int *c, float *f) {
  __shared__ alignas(128) int8_t sa[64 * 32], sb[16 * 32];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 32; i += 128) {
    int row = i / 32, k = i % 32;
    sa[(k / 16 * 8 + row / 8) * 128 + row % 8 * 16 + k % 16] = a[i];
  }
  for (int i = t; i < 16 * 32; i += 128) {
    int row = i / 32, k = i % 32;
    sb[(k / 16 * 2 + row / 8) * 128 + row % 8 * 16 + k % 16] = b[i];
  }
  fenceProxy();
  __syncthreads();
  int d[8] = {};
  float e[8] = {};
  keep(d);
  keep(e);
  uint64_t da = plainDescriptor(sa, 1024, 128);
  uint64_t db = plainDescriptor(sb, 256, 128);
  fenceProducts();
  multiplyBytes(d, da, db);
  multiplyFloat8(e, da, db);
  commitProducts();
  waitProducts<0>();
  for (int i = 0; i < 8; ++i) {
    c[rowOf(t, i) * 16 + columnOf(t, i)] = d[i];
    f[rowOf(t, i) * 16 + columnOf(t, i)] = e[i];
  }
}

/// c[64][16] = a b^T over k, 64 at a time: boxes of 128 swizzled bytes, two
/// stages, a product under way while the next box arrives.
extern "C" __global__ void
product_of_boxes(const __nv_bfloat16 *, const __nv_bfloat16 *, float *c,
                 const __grid_constant__ CUtensorMap a,
                 const __grid_constant__ CUtensorMap b, int k) {
  __shared__ alignas(1024) __nv_bfloat16 sa[2][64 * 64], sb[2][16 * 64];
  __shared__ uint64_t full[2];
  int t = threadIdx.x, steps = k / 64;
  auto fetch = [&](int step) {
    int s = step % 2;
    expect(&full[s], sizeof sa[0] + sizeof sb[0]);
    loadTile(sa[s], &a, step * 64, 0, &full[s]);
    loadTile(sb[s], &b, step * 64, 0, &full[s]);
  };
  if (t == 0) {
    init(&full[0], 1);
    init(&full[1], 1);
    fenceInit();
    fetch(0);
  }
  __syncthreads();
  float d[8] = {};
  for (int step = 0; step < steps; ++step) {
    int s = step % 2;
    wait(&full[s], step / 2 % 2);
    keep(d);
    fenceProducts();
    for (int i = 0; i < 4; ++i)
      multiply(d, swizzledDescriptor(sa[s]) + 2 * i,
               swizzledDescriptor(sb[s]) + 2 * i);
    commitProducts();
    waitProducts<1>();
    __syncthreads();
    if (t == 0 && step + 1 < steps)
      fetch(step + 1);
  }
  waitProducts<0>();
  for (int i = 0; i < 8; ++i)
    c[rowOf(t, i) * 16 + columnOf(t, i)] = d[i];
}

/// Each block adds its bins to those of the first.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_histogram(const int *x, int *bins) {
  __shared__ int mine[16];
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < 16)
    mine[threadIdx.x] = 0;
  cluster.sync();
  int *first = cluster.map_shared_rank(mine, 0);
  atomicAdd(&first[x[blockIdx.x * blockDim.x + threadIdx.x] & 15], 1);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < 16)
    bins[threadIdx.x] = mine[threadIdx.x];
}

/// Each block sends its tile to the other one with a copy.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    swap_tiles(const int *x, int *y) {
  __shared__ alignas(128) int out[64], in[64];
  __shared__ uint64_t full;
  cg::cluster_group cluster = cg::this_cluster();
  int t = threadIdx.x;
  out[t] = x[blockIdx.x * 64 + t];
  if (t == 0) {
    init(&full, 1);
    fenceInit();
  }
  fenceProxy();
  if (t == 0) {
    expect(&full, sizeof in);
  }
  cluster.sync();
  if (t == 0) {
    uint32_t to, barrier;
    unsigned other = cluster.block_rank() ^ 1;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to)
        : "r"(sharedAddress(in)), "r"(other));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(barrier)
        : "r"(sharedAddress(&full)), "r"(other));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_"
                 "tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "r"(sharedAddress(out)), "r"(256), "r"(barrier)
                 : "memory");
  }
  wait(&full, 0);
  y[blockIdx.x * 64 + t] = in[t];
  cluster.sync();
}

/// The first block fetches for both.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    fetch_for_both(const int *x, int *y) {
  __shared__ alignas(128) int tile[64];
  __shared__ uint64_t full;
  cg::cluster_group cluster = cg::this_cluster();
  int t = threadIdx.x;
  if (t == 0) {
    init(&full, 1);
    fenceInit();
    expect(&full, sizeof tile);
  }
  cluster.sync();
  if (t == 0 && cluster.block_rank() == 0)
    cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global,
                             tile, x, sizeof tile, &full, uint16_t(3));
  wait(&full, 0);
  y[blockIdx.x * 64 + t] = tile[t] + int(cluster.block_rank());
  cluster.sync();
}

/// Blocks add their tiles to the same place.
extern "C" __global__ void add_tiles(const float *x, float *sum) {
  __shared__ alignas(128) float tile[64];
  tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  fenceProxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                 "[%0], [%1], %2;" ::"l"(sum),
                 "r"(sharedAddress(tile)), "r"(256)
                 : "memory");
    commitStores();
    waitStores<0>();
  }
}

/// Words sent one by one, counted by the receiver's barrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    send_words(const int *x, int *y) {
  __shared__ int in[64];
  __shared__ uint64_t full;
  cg::cluster_group cluster = cg::this_cluster();
  int t = threadIdx.x;
  if (t == 0) {
    init(&full, 1);
    expect(&full, sizeof in);
  }
  cluster.sync();
  unsigned other = cluster.block_rank() ^ 1;
  cuda::ptx::st_async(cluster.map_shared_rank(&in[63 - t], other),
                      x[blockIdx.x * 64 + t],
                      cluster.map_shared_rank(&full, other));
  waitCluster(&full, 0);
  y[blockIdx.x * 64 + t] = in[t];
  cluster.sync();
}
