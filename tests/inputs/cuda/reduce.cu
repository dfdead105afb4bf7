// Reductions: shuffles, shared memory, atomics, votes, and one whose last block
// finishes the sum.
#include <cstdint>

extern "C" __global__ void sum_shuffle(const float *x, float *out, int n) {
  __shared__ float partial[32];
  float total = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    total += x[i];
  for (int offset = 16; offset; offset /= 2)
    total += __shfl_down_sync(~0u, total, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x < 32) {
    total = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset; offset /= 2)
      total += __shfl_xor_sync(~0u, total, offset);
    if (threadIdx.x == 0)
      *out = total;
  }
}

extern "C" __global__ void sum_tree(const int *x, int *out, int n) {
  extern __shared__ int tree[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tree[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half)
      tree[threadIdx.x] += tree[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(out, tree[0]);
}

extern "C" __global__ void max_atomic(const int *x, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicMax(out, x[i]);
}

extern "C" __global__ void dot_double(const double *x, const double *y,
                                      double *out, int n) {
  double total = 0;
  for (int i = threadIdx.x; i < n; i += 32)
    total += x[i] * y[i];
  for (int offset = 16; offset; offset /= 2)
    total += __shfl_xor_sync(~0u, total, offset);
  if (threadIdx.x == 0)
    *out = total;
}

extern "C" __global__ void redux_all(const int *x, int *out) {
  int v = x[threadIdx.x];
  int sum = __reduce_add_sync(~0u, v);
  int most = __reduce_max_sync(~0u, v);
  unsigned bits = __reduce_xor_sync(~0u, (unsigned)v);
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = most;
    out[2] = (int)bits;
  }
}

extern "C" __global__ void count_positive(const int *x, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned votes = __ballot_sync(~0u, i < n && x[i] > 0);
  if (threadIdx.x % 32 == 0)
    atomicAdd(out, __popc(votes));
  int any = __syncthreads_or(i < n && x[i] == 77);
  int all = __syncthreads_and(i >= n || x[i] < 1000);
  int odd = __syncthreads_count(i < n && (x[i] & 1));
  if (threadIdx.x == 0) {
    atomicOr(out + 1, any);
    atomicAnd(out + 2, all);
    atomicAdd(out + 3, odd);
  }
}

// The last block to arrive adds up what the others left.
extern "C" __global__ void sum_last_block(const int *x, int *partial,
                                          unsigned *arrived, int *out, int n) {
  __shared__ int total;
  __shared__ bool isLast;
  if (threadIdx.x == 0)
    total = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&total, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = total;
    __threadfence();
    isLast = atomicInc(arrived, gridDim.x) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (isLast && threadIdx.x == 0) {
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b)
      sum += partial[b];
    *out = sum;
  }
}
