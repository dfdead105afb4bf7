// Kernels that this project did not generate, for the emulator's tests. The
// PTX beside it was made by
//   nvcc -std=c++17 -O2 -arch=sm_90 -ptx kernels.cu -o kernels.ptx
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void vector_add(const float *a, const float *b, float *c,
                                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

// One block: sum of n floats.
extern "C" __global__ void reduce_sum(const float *x, float *sum, int n) {
  __shared__ float partial[32];
  float total = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    total += x[i];
  for (int offset = 16; offset; offset /= 2)
    total += __shfl_down_sync(0xffffffff, total, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x < 32) {
    total = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset; offset /= 2)
      total += __shfl_xor_sync(0xffffffff, total, offset);
    if (threadIdx.x == 0)
      *sum = total;
  }
}

extern "C" __global__ void transpose(const float *in, float *out, int rows,
                                     int columns) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < columns && y + j < rows)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < rows && y + j < columns)
      out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

// c[m][n] = a[m][k] b[k][n] in tiles of 16; all dims multiples of 16.
extern "C" __global__ void matmul(const float *a, const float *b, float *c,
                                  int n, int k) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += 16) {
    as[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void histogram(const uint8_t *data, unsigned *bins,
                                     int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i])
      atomicAdd(&bins[i], local[i]);
}

// Inclusive scan of one block of up to 1024 values, by warps.
extern "C" __global__ void scan(const int *in, int *out, int n) {
  __shared__ int sums[32];
  int i = threadIdx.x, lane = i % 32, warp = i / 32;
  int value = i < n ? in[i] : 0;
  for (int offset = 1; offset < 32; offset *= 2) {
    int other = __shfl_up_sync(0xffffffff, value, offset);
    if (lane >= offset)
      value += other;
  }
  if (lane == 31)
    sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int total = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int offset = 1; offset < 32; offset *= 2) {
      int other = __shfl_up_sync(0xffffffff, total, offset);
      if (lane >= offset)
        total += other;
    }
    sums[lane] = total;
  }
  __syncthreads();
  if (i < n)
    out[i] = value + (warp ? sums[warp - 1] : 0);
}

// A switch that becomes a jump table, local memory, and half arithmetic.
extern "C" __global__ void mixed(const int *op, const float *x, float *y,
                                 int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  float stack[8];
  for (int j = 0; j < 8; ++j)
    stack[(j * 5 + op[i]) & 7] = v + j;
  switch (op[i]) {
  case 0:
    v = v * 2;
    break;
  case 1:
    v = sqrtf(v);
    break;
  case 2:
    v = v / 3;
    break;
  case 3:
    v = __half2float(__hadd(__float2half(v), __float2half(1.0f)));
    break;
  case 4:
    v = __bfloat162float(__float2bfloat16(v));
    break;
  case 5:
    v = stack[op[i]];
    break;
  case 6:
    v = float(__float2int_rz(v) % 7);
    break;
  default:
    v = -v;
  }
  y[i] = v;
}
