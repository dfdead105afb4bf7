// Functions: not inlined, recursive, through pointers; local arrays, printf.
#include <cassert>
#include <cstdint>
#include <cstdio>

struct Pair {
  int first;
  long long second;
};

__device__ __noinline__ Pair widen(Pair p, int by) {
  Pair r;
  r.first = p.first + by;
  r.second = p.second * by;
  return r;
}

extern "C" __global__ void call_struct(const int *x, long long *y) {
  Pair p = {x[threadIdx.x], 5};
  p = widen(p, 3);
  if (threadIdx.x % 2)
    p = widen(p, 100);
  y[threadIdx.x] = p.first + p.second;
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(const int *x, int *y) {
  y[threadIdx.x] = fibonacci(x[threadIdx.x]);
}

__device__ __noinline__ int isOdd(int n);
__device__ __noinline__ int isEven(int n) { return n == 0 ? 1 : isOdd(n - 1); }
__device__ __noinline__ int isOdd(int n) { return n == 0 ? 0 : isEven(n - 1); }
extern "C" __global__ void mutual_recursion(int *y) {
  y[threadIdx.x] = isEven(threadIdx.x);
}

typedef int (*Function)(int);
__device__ int twice(int v) { return 2 * v; }
__device__ int square(int v) { return v * v; }
__device__ int negate(int v) { return -v; }
__device__ Function table[3] = {twice, square, negate};
extern "C" __global__ void function_pointers(const int *which, int *y) {
  y[threadIdx.x] = table[which[threadIdx.x]]((int)threadIdx.x);
}

// An array that is indexed by data lives in local memory.
extern "C" __global__ void local_array(const int *x, int *y) {
  int count[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 16; ++i)
    ++count[x[threadIdx.x * 16 + i] & 7];
  int best = 0;
  for (int i = 1; i < 8; ++i)
    if (count[i] > count[best])
      best = i;
  y[threadIdx.x] = best * 100 + count[best];
}

extern "C" __global__ void switch_table(const int *x, int *y) {
  int v = x[threadIdx.x], r;
  switch (v) {
  case 0: r = v + 11; break;
  case 1: r = v * 7; break;
  case 2: r = v - 1000; break;
  case 3: r = v ^ 0x55; break;
  case 4: r = v << 9; break;
  case 5: r = v / 2; break;
  case 6: r = 77; break;
  case 7: r = y[threadIdx.x] + 5; break;
  default: r = -1;
  }
  y[threadIdx.x] = r;
}

extern "C" __global__ void print(const int *x) {
  if (threadIdx.x == 1)
    printf("block %d thread %u: %d %s %.2f %llx %c%%\n", blockIdx.x,
           threadIdx.x, x[0], "text", 1.5, 0x123456789abcull, 'z');
}

extern "C" __global__ void checked(const int *x, int *y) {
  assert(x[threadIdx.x] >= 0);
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
