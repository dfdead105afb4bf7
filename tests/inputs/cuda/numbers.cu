// Halves, bytes, bits, wide integers and rounding modes.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void half2_axpy(const __half2 *x, const __half2 *y,
                                      __half2 *z) {
  int i = threadIdx.x;
  z[i] = __hfma2(__float2half2_rn(2.0f), x[i], y[i]);
  if (__hgt(__low2half(x[i]), __high2half(x[i])))
    z[i] = __hmin2(z[i], __float2half2_rn(100.0f));
}

extern "C" __global__ void bf16_mix(const __nv_bfloat162 *x, float *y) {
  int i = threadIdx.x;
  __nv_bfloat162 v = __hmul2(x[i], __floats2bfloat162_rn(0.5f, 4.0f));
  v = __hadd2(v, __hneg2(x[i]));
  float2 f = __bfloat1622float2(v);
  y[2 * i] = f.x;
  y[2 * i + 1] = f.y;
}

extern "C" __global__ void fp8_round(const float *x, uint8_t *e4m3,
                                     uint8_t *e5m2, float *back) {
  int i = threadIdx.x;
  __nv_fp8_e4m3 a(x[i]);
  __nv_fp8_e5m2 b(x[i]);
  e4m3[i] = a.__x;
  e5m2[i] = b.__x;
  back[i] = float(a) + float(b);
}

extern "C" __global__ void bits(const unsigned *x, unsigned *y) {
  unsigned v = x[threadIdx.x], *out = y + 12 * threadIdx.x;
  out[0] = __popc(v);
  out[1] = __clz(v);
  out[2] = __brev(v);
  out[3] = __ffs(v);
  out[4] = __byte_perm(v, 0x01234567, 0x7531);
  out[5] = __funnelshift_l(v, ~v, 7);
  out[6] = __umulhi(v, 0x9e3779b9u);
  out[7] = (v ^ (v >> 3)) & ~(v << 5);
  out[8] = v >> 4 & 0xfff;
  out[9] = __usad(v, 1000, 5);
  out[10] = __vadd4(v, 0x01ff7f80);
  out[11] = __vmaxs2(v, 0x00018000);
}

extern "C" __global__ void wide_integers(const uint64_t *x, uint64_t *y) {
  uint64_t v = x[threadIdx.x], *out = y + 6 * threadIdx.x;
  unsigned __int128 square = (unsigned __int128)v * v + v;
  out[0] = (uint64_t)square;
  out[1] = (uint64_t)(square >> 64);
  out[2] = v / 1000003;
  out[3] = v % ((v >> 40) + 3);
  out[4] = (uint64_t)((int64_t)v / -7);
  out[5] = __popcll(v) + __clzll(v) * 100;
}

extern "C" __global__ void small_division(const int *x, int *y) {
  int v = x[threadIdx.x];
  y[4 * threadIdx.x] = v / 7;
  y[4 * threadIdx.x + 1] = v % 10;
  y[4 * threadIdx.x + 2] = (short)(v * 3) / (short)((v & 15) + 1);
  y[4 * threadIdx.x + 3] = (unsigned)v / ((unsigned)v % 13 + 1);
}

extern "C" __global__ void roundings(const float *x, float *y, int *z) {
  int i = threadIdx.x;
  float v = x[i];
  y[5 * i] = __fadd_rz(v, 0.1f);
  y[5 * i + 1] = __fmul_ru(v, 1.1f);
  y[5 * i + 2] = __fdiv_rn(v, 3.0f);
  y[5 * i + 3] = __fsqrt_rn(fabsf(v));
  y[5 * i + 4] = rintf(v) + truncf(v) + floorf(v) + ceilf(v);
  z[4 * i] = __float2int_rn(v);
  z[4 * i + 1] = __float2int_rz(v);
  z[4 * i + 2] = __float2int_rd(v);
  z[4 * i + 3] = __float2int_ru(v);
}

extern "C" __global__ void doubles(const double *x, double *y) {
  int i = threadIdx.x;
  double v = x[i];
  y[4 * i] = v / 3;
  y[4 * i + 1] = sqrt(v);
  y[4 * i + 2] = fma(v, v, -1.0);
  y[4 * i + 3] = __double2ll_rn(v) + (double)(float)v;
}

// Library functions: polynomials, tables and slow paths of nvcc's own.
extern "C" __global__ void transcendental(const float *x, float *y) {
  int i = threadIdx.x;
  float v = x[i];
  y[6 * i] = expf(v);
  y[6 * i + 1] = logf(v + 20);
  y[6 * i + 2] = sinf(v);
  y[6 * i + 3] = tanhf(v);
  y[6 * i + 4] = powf(v + 20, 1.5f);
  y[6 * i + 5] = erff(v);
}
