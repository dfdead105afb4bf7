// Locks, named barriers, barriers of the whole grid, warps that hand over.
#include <cuda/atomic>

__device__ int lock = 0;
extern "C" __global__ void spin_lock(int *counter) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    *counter += blockIdx.x + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

// Every lane of a warp takes the lock in turn.
extern "C" __global__ void lane_lock(int *word, int *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(word, 0, 1) == 0) {
      __threadfence();
      *counter += threadIdx.x;
      __threadfence();
      atomicExch(word, 0);
      done = true;
    }
  }
}

extern "C" __global__ void grid_barrier(const int *x, int *between, int *y,
                                        unsigned *arrived) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int n = gridDim.x * blockDim.x;
  between[i] = x[i] * 2;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned *)arrived < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  y[i] = between[n - 1 - i];
}

// libcu++: release and acquire.
extern "C" __global__ void release_acquire(int *data, int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    *out = *data;
  }
}

// Warp 0 fills, warp 1 empties, through two named barriers.
extern "C" __global__ void producer_consumer(const int *x, int *y, int rounds) {
  __shared__ int buffer[32];
  int lane = threadIdx.x % 32;
  for (int r = 0; r < rounds; ++r)
    if (threadIdx.x < 32) {
      if (r > 0)
        asm volatile("bar.sync 2, 64;" ::: "memory");
      buffer[lane] = x[r * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[r * 32 + lane] = buffer[31 - lane];
      if (r + 1 < rounds)
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
}

extern "C" __global__ void warp_exchange(const int *x, int *y) {
  __shared__ int buffer[64];
  buffer[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = buffer[threadIdx.x ^ 3];
}
