// Sorting in shared memory and in registers.

extern "C" __global__ void sort_bitonic(int *x) {
  __shared__ int keys[128];
  int t = threadIdx.x;
  keys[t] = x[t];
  __syncthreads();
  for (int size = 2; size <= 128; size *= 2)
    for (int stride = size / 2; stride; stride /= 2) {
      int other = t ^ stride;
      if (other > t) {
        bool up = (t & size) == 0;
        int a = keys[t], b = keys[other];
        if ((a > b) == up) {
          keys[t] = b;
          keys[other] = a;
        }
      }
      __syncthreads();
    }
  x[t] = keys[t];
}

extern "C" __global__ void sort_odd_even(int *x, int n) {
  extern __shared__ int keys[];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x)
    keys[i] = x[i];
  __syncthreads();
  for (int round = 0; round < n; ++round) {
    int i = 2 * t + (round & 1);
    if (i + 1 < n && keys[i] > keys[i + 1]) {
      int swap = keys[i];
      keys[i] = keys[i + 1];
      keys[i + 1] = swap;
    }
    __syncthreads();
  }
  for (int i = t; i < n; i += blockDim.x)
    x[i] = keys[i];
}

// A warp sorts 32 keys by exchanging them through shuffles.
extern "C" __global__ void sort_warp(unsigned *x) {
  unsigned v = x[threadIdx.x];
  for (int size = 2; size <= 32; size *= 2)
    for (int stride = size / 2; stride; stride /= 2) {
      unsigned other = __shfl_xor_sync(~0u, v, stride);
      bool keepsLow =
          ((threadIdx.x & stride) == 0) == ((threadIdx.x & size) == 0);
      v = keepsLow ? min(v, other) : max(v, other);
    }
  x[threadIdx.x] = v;
}

// Bit by bit: zeros to the front, in order.
extern "C" __global__ void sort_radix(unsigned *x) {
  __shared__ unsigned keys[64];
  __shared__ unsigned zeros[2];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  unsigned v = x[t];
  for (int bit = 0; bit < 8; ++bit) {
    bool one = v >> bit & 1;
    unsigned votes = __ballot_sync(~0u, !one);
    if (lane == 0)
      zeros[warp] = __popc(votes);
    __syncthreads();
    unsigned before = __popc(votes & ((1u << lane) - 1));
    unsigned zerosBefore = before + (warp ? zeros[0] : 0);
    unsigned place = one ? zeros[0] + zeros[1] + t - zerosBefore : zerosBefore;
    keys[place] = v;
    __syncthreads();
    v = keys[t];
    __syncthreads();
  }
  x[t] = v;
}
