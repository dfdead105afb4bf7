// Kernels with one mistake each. The line that has to be named, on one side of
// the finding, ends in `BUG` and the kind of finding.
#include <cassert>
#include <cstdint>
#include <cuda_pipeline.h>

extern "C" __global__ void tree_without_barrier(const int *x, int *out) {
  __shared__ int tree[128];
  tree[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 64; half; half /= 2)
    if (threadIdx.x < half)
      tree[threadIdx.x] += tree[threadIdx.x + half]; // BUG race
  if (threadIdx.x == 0)
    *out = tree[0];
}

extern "C" __global__ void warp_without_sync(const int *x, int *y) {
  __shared__ int buffer[32];
  buffer[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = buffer[threadIdx.x ^ 3]; // BUG race
}

extern "C" __global__ void halo_without_barrier(const int *x, int *y) {
  __shared__ int row[66];
  int t = threadIdx.x;
  row[t + 1] = x[t];
  if (t == 0)
    row[0] = row[65] = 0;
  y[t] = row[t] + row[t + 2]; // BUG race
}

extern "C" __global__ void last_block_without_fence(const int *x, int *partial,
                                                    unsigned *arrived,
                                                    int *out) {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    if (atomicInc(arrived, gridDim.x) == gridDim.x - 1) {
      int sum = 0;
      for (int b = 0; b < gridDim.x; ++b)
        sum += partial[b]; // BUG race
      *out = sum;
    }
  }
}

// The tile is refilled while slower warps still read it.
extern "C" __global__ void tile_reused_too_early(const int *x, int *y, int n) {
  __shared__ int tile[64];
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    tile[threadIdx.x] = x[k * 64 + threadIdx.x]; // BUG race
    __syncthreads();
    sum += tile[63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}

extern "C" __global__ void plain_flag(int *data, int *flag, int *out) {
  if (blockIdx.x == 0) {
    *data = 42;
    __threadfence();
    *flag = 1; // BUG race
  } else {
    while (*(volatile int *)flag == 0) {
    }
    __threadfence();
    *out = *data;
  }
}

extern "C" __global__ void lock_of_one_block(int *lock, int *counter) {
  while (atomicCAS_block(lock, 0, 1) != 0) { // BUG race
  }
  __threadfence_block();
  ++*counter;
  __threadfence_block();
  atomicExch_block(lock, 0);
}

extern "C" __global__ void counts_without_atomics(const int *x, int *bins) {
  ++bins[x[threadIdx.x] & 3]; // BUG race
}

extern "C" __global__ void blocks_overlap(int *y) {
  y[blockIdx.x * 31 + threadIdx.x] = blockIdx.x; // BUG race
}

// The consumer never says that the buffer is free.
extern "C" __global__ void producer_runs_ahead(const int *x, int *y) {
  __shared__ int buffer[32];
  int lane = threadIdx.x % 32;
  for (int r = 0; r < 4; ++r)
    if (threadIdx.x < 32) {
      buffer[lane] = x[r * 32 + lane]; // BUG race
      asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[r * 32 + lane] = buffer[31 - lane];
    }
}

extern "C" __global__ void one_past_the_end(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    y[i] = x[i]; // BUG out-of-bounds
}

extern "C" __global__ void left_neighbour_of_0(const int *x, int *y) {
  y[threadIdx.x] = x[(int)threadIdx.x - 1]; // BUG out-of-bounds
}

extern "C" __global__ void shared_index_too_large(const int *x, int *y) {
  __shared__ int table[32];
  table[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = table[x[threadIdx.x] + 32]; // BUG out-of-bounds
}

extern "C" __global__ void vector_at_odd_place(const float *x, float4 *y) {
  y[threadIdx.x] = *(const float4 *)(x + 4 * threadIdx.x + 1); // BUG misaligned
}

extern "C" __global__ void shared_not_filled(const int *x, int *y) {
  __shared__ int table[64];
  if (threadIdx.x < 31)
    table[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = table[threadIdx.x]; // BUG uninitialised
}

extern "C" __global__ void sum_into_nothing(const int *x, int *sum) {
  atomicAdd(sum, x[threadIdx.x]); // BUG uninitialised
}

extern "C" __global__ void local_not_filled(const int *x, int *y) {
  int count[16];
  for (int i = 0; i < 15; ++i)
    count[x[i] & 15] = i;
  y[threadIdx.x] = count[(x[threadIdx.x] + 5) & 15]; // BUG uninitialised
}

extern "C" __global__ void barrier_in_a_branch(int *y) {
  if (threadIdx.x < 16)
    asm volatile("bar.sync 0;" ::: "memory"); // BUG divergent
  else
    asm volatile("bar.sync 1;" ::: "memory");
  y[threadIdx.x] = 1;
}

extern "C" __global__ void shuffle_in_a_branch(int *y) {
  int v = threadIdx.x;
  if (threadIdx.x < 16)
    v = __shfl_sync(~0u, v, 0); // BUG divergent
  else
    __syncwarp();
  y[threadIdx.x] = v;
}

extern "C" __global__ void barrier_counts_too_many(int *y) {
  if (threadIdx.x < 64)
    asm volatile("bar.sync 1, 96;" ::: "memory"); // BUG deadlock
  y[threadIdx.x] = 1;
}

extern "C" __global__ void copy_not_waited_for(const int *x, int *y) {
  __shared__ int4 buffer[32];
  __pipeline_memcpy_async(&buffer[threadIdx.x], &((const int4 *)x)[threadIdx.x],
                          16);
  __pipeline_commit();
  y[threadIdx.x] = buffer[threadIdx.x].x; // BUG async
}

extern "C" __global__ void waits_for_the_older_copy(const int *x, int *y) {
  __shared__ int buffer[2][32];
  for (int k = 0; k < 2; ++k) {
    __pipeline_memcpy_async(&buffer[k][threadIdx.x], &x[k * 32 + threadIdx.x],
                            4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  y[threadIdx.x] = buffer[1][threadIdx.x]; // BUG async
}

__device__ __noinline__ int endless(int n) {
  int seen[4] = {n, n + 1, n + 2, n + 3};
  int next = endless(seen[n & 3] + 3); // BUG stack
  return next + seen[next & 3];
}
extern "C" __global__ void recursion_without_end(int *y) {
  y[threadIdx.x] = endless(threadIdx.x);
}

typedef int (*Function)(int);
extern "C" __global__ void pointer_to_nothing(const uint64_t *pointer, int *y) {
  y[threadIdx.x] = ((Function)*pointer)(3); // BUG call
}

extern "C" __global__ void failing_assert(const int *x, int *y) {
  assert(x[threadIdx.x] != 7);
  y[threadIdx.x] = 1;
}

extern "C" __global__ void waits_for_nobody(volatile int *flag) {
  while (*flag == 0) { // BUG budget
  }
}
