// Histograms and other uses of atomics.
#include <cstdint>
#include <cuda_fp16.h>

extern "C" __global__ void histogram_shared(const uint8_t *x, unsigned *out,
                                            int n) {
  __shared__ unsigned bins[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (bins[b])
      atomicAdd(&out[b], bins[b]);
}

extern "C" __global__ void histogram_global(const uint8_t *x, unsigned *out,
                                            int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&out[x[i] % 16], 1u);
}

// Equal values of a warp are counted once.
extern "C" __global__ void histogram_match(const int *x, int *out) {
  int v = x[threadIdx.x] & 7;
  unsigned peers = __match_any_sync(~0u, v);
  if (threadIdx.x % 32 == __ffs(peers) - 1)
    atomicAdd(&out[v], __popc(peers));
}

extern "C" __global__ void weights_by_bin(const int *bin, const float *weight,
                                          float *out, double *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&out[bin[i]], weight[i]);
    atomicAdd(&wide[bin[i]], (double)weight[i]);
  }
}

// Floats ordered through their bits, by compare and swap.
extern "C" __global__ void max_cas(const float *x, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int *bits = (int *)out, old = *(volatile int *)bits, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= x[i])
      break;
    old = atomicCAS(bits, seen, __float_as_int(x[i]));
  } while (old != seen);
}

extern "C" __global__ void half2_sum(const __half2 *x, __half2 *out) {
  atomicAdd(out, x[threadIdx.x]);
}

extern "C" __global__ void ticket(unsigned *next, unsigned long long *sum,
                                  unsigned *order) {
  unsigned mine = atomicInc(next, 9u);
  atomicAdd(sum, (unsigned long long)mine << 32);
  unsigned long long high = atomicExch(sum + 1, (unsigned long long)mine);
  atomicMin(order, mine);
  atomicXor(order + 1, (unsigned)(high >> 40));
  atomicSub(order + 2, 1u);
  atomicDec(order + 3, 3u);
}
