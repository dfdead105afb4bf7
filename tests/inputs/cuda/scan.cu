// Prefix sums, within a warp, a block, and across blocks that hand over.

extern "C" __global__ void scan_warp(const int *x, int *out) {
  int v = x[threadIdx.x];
  for (int d = 1; d < 32; d *= 2) {
    int left = __shfl_up_sync(~0u, v, d);
    if (threadIdx.x % 32 >= d)
      v += left;
  }
  out[threadIdx.x] = v;
}

extern "C" __global__ void scan_hillis(const int *x, int *out) {
  __shared__ int buffer[2][128];
  int t = threadIdx.x, from = 0;
  buffer[0][t] = x[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    buffer[1 - from][t] = buffer[from][t] + (t >= d ? buffer[from][t - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[t] = buffer[from][t];
}

// Exclusive, by an up-sweep and a down-sweep.
extern "C" __global__ void scan_blelloch(const int *x, int *out) {
  __shared__ int tree[256];
  int t = threadIdx.x;
  tree[2 * t] = x[2 * t];
  tree[2 * t + 1] = x[2 * t + 1];
  int stride = 1;
  for (int n = 128; n; n /= 2) {
    __syncthreads();
    if (t < n)
      tree[stride * (2 * t + 2) - 1] += tree[stride * (2 * t + 1) - 1];
    stride *= 2;
  }
  if (t == 0)
    tree[255] = 0;
  for (int n = 1; n < 256; n *= 2) {
    stride /= 2;
    __syncthreads();
    if (t < n) {
      int a = stride * (2 * t + 1) - 1, b = stride * (2 * t + 2) - 1;
      int low = tree[a];
      tree[a] = tree[b];
      tree[b] += low;
    }
  }
  __syncthreads();
  out[2 * t] = tree[2 * t];
  out[2 * t + 1] = tree[2 * t + 1];
}

// Each block waits for its left neighbour's running total.
extern "C" __global__ void scan_chained(const int *x, int *out,
                                        volatile int *total,
                                        volatile int *ready) {
  __shared__ int before;
  int t = threadIdx.x, v = x[blockIdx.x * 32 + t];
  for (int d = 1; d < 32; d *= 2) {
    int left = __shfl_up_sync(~0u, v, d);
    if (t >= d)
      v += left;
  }
  if (t == 31) {
    int sum = 0;
    if (blockIdx.x > 0) {
      while (!ready[blockIdx.x - 1]) {
      }
      __threadfence();
      sum = total[blockIdx.x - 1];
    }
    before = sum;
    total[blockIdx.x] = sum + v;
    __threadfence();
    ready[blockIdx.x] = 1;
  }
  __syncthreads();
  out[blockIdx.x * 32 + t] = before + v;
}
