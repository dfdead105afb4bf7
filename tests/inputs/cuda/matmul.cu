// Matrix products: transposes, tiles in shared memory, cp.async, mma, dp4a.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" __global__ void transpose_padded(const float *x, float *y, int rows,
                                            int cols) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32;
  for (int r = threadIdx.y; r < 32; r += 8)
    if (r0 + r < rows && c < cols)
      tile[r][threadIdx.x] = x[(r0 + r) * cols + c];
  __syncthreads();
  int r = r0 + threadIdx.x, c0 = blockIdx.x * 32;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (c0 + k < cols && r < rows)
      y[(c0 + k) * rows + r] = tile[threadIdx.x][k];
}

extern "C" __global__ void transpose_half(const __half *x, __half *y) {
  __shared__ __half tile[16][18];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
  __syncthreads();
  y[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void copy_vectors(const float4 *x, float4 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = __ldg(x + i);
    v.x += 1;
    __stcs(y + i, v);
  }
}

extern "C" __global__ void matmul_tiled(const float *a, const float *b,
                                        float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int r = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    as[threadIdx.y][threadIdx.x] = a[r * n + k0 + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[r * n + col] = sum;
}

// Two stages: the next tile is on its way while this one is used.
extern "C" __global__ void matmul_cp_async(const float *a, const float *b,
                                           float *c, int n) {
  __shared__ __align__(16) float as[2][16][16], bs[2][16][16];
  int tid = threadIdx.y * 16 + threadIdx.x;
  int r0 = blockIdx.y * 16, c0 = blockIdx.x * 16;
  auto fetch = [&](int stage, int k0) {
    if (tid < 64) {
      int row = tid / 4, quad = tid % 4 * 4;
      __pipeline_memcpy_async(&as[stage][row][quad],
                              &a[(r0 + row) * n + k0 + quad], 16);
      __pipeline_memcpy_async(&bs[stage][row][quad],
                              &b[(k0 + row) * n + c0 + quad], 16);
    }
    __pipeline_commit();
  };
  fetch(0, 0);
  float sum = 0;
  for (int k0 = 0, stage = 0; k0 < n; k0 += 16, stage ^= 1) {
    if (k0 + 16 < n) {
      fetch(stage ^ 1, k0 + 16);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += as[stage][threadIdx.y][k] * bs[stage][k][threadIdx.x];
    __syncthreads();
  }
  c[(r0 + threadIdx.y) * n + c0 + threadIdx.x] = sum;
}

// One warp, one m16n8k16, fragments loaded by hand.
extern "C" __global__ void mma_half(const __half *a, const __half *b,
                                    float *d) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  uint32_t fa[4], fb[2];
  for (int i = 0; i < 4; ++i)
    fa[i] = *(const uint32_t *)&a[(g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8];
  for (int i = 0; i < 2; ++i)
    fb[i] = *(const uint32_t *)&b[g * 16 + 2 * t + i * 8];
  float fd[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(fd[0]), "+f"(fd[1]), "+f"(fd[2]), "+f"(fd[3])
               : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]),
                 "r"(fb[1]));
  for (int i = 0; i < 4; ++i)
    d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = fd[i];
}

// ldmatrix from shared memory, bf16, four k steps.
extern "C" __global__ void mma_ldmatrix(const __nv_bfloat16 *a,
                                        const __nv_bfloat16 *b, float *d) {
  __shared__ __align__(16) __nv_bfloat16 as[16][64], bs[8][64];
  for (int i = threadIdx.x; i < 16 * 64; i += 32)
    as[i / 64][i % 64] = a[i];
  for (int i = threadIdx.x; i < 8 * 64; i += 32)
    bs[i / 64][i % 64] = b[i];
  __syncthreads();
  float fd[4] = {0, 0, 0, 0};
  for (int k = 0; k < 64; k += 16) {
    uint32_t fa[4], fb[2];
    uint32_t row = (uint32_t)__cvta_generic_to_shared(
        &as[threadIdx.x % 16][k + threadIdx.x / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(row));
    uint32_t column = (uint32_t)__cvta_generic_to_shared(
        &bs[threadIdx.x % 8][k + threadIdx.x / 8 % 2 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(fb[0]), "=r"(fb[1])
                 : "r"(column));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(fd[0]), "+f"(fd[1]), "+f"(fd[2]), "+f"(fd[3])
                 : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]),
                   "r"(fb[1]));
  }
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 4; ++i)
    d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = fd[i];
}

extern "C" __global__ void matmul_dp4a(const int *a, const int *b, int *c,
                                       int quads) {
  int r = threadIdx.y, col = threadIdx.x, sum = 0;
  for (int k = 0; k < quads; ++k)
    sum = __dp4a(a[r * quads + k], b[col * quads + k], sum);
  c[r * 8 + col] = sum;
}
