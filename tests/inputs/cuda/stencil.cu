// Neighbourhoods: halos in shared memory, constant coefficients, boundaries.

__constant__ float coefficients[5] = {1, 4, 6, 4, 1};

extern "C" __global__ void stencil_halo(const float *x, float *y, int n) {
  __shared__ float row[68];
  int i = blockIdx.x * 64 + threadIdx.x;
  auto at = [&](int k) { return k >= 0 && k < n ? x[k] : 0.0f; };
  row[threadIdx.x + 2] = at(i);
  if (threadIdx.x < 2) {
    row[threadIdx.x] = at(i - 2);
    row[threadIdx.x + 66] = at(i + 64);
  }
  __syncthreads();
  if (i < n) {
    float sum = 0;
    for (int k = 0; k < 5; ++k)
      sum += coefficients[k] * row[threadIdx.x + k];
    y[i] = sum;
  }
}

extern "C" __global__ void laplace_2d(const float *x, float *y, int rows,
                                      int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols)
    return;
  float centre = x[r * cols + c];
  float north = r ? x[(r - 1) * cols + c] : 0;
  float south = r + 1 < rows ? x[(r + 1) * cols + c] : 0;
  float west = c ? x[r * cols + c - 1] : 0;
  float east = c + 1 < cols ? x[r * cols + c + 1] : 0;
  y[r * cols + c] = north + south + west + east - 4 * centre;
}

// Several time steps inside one block.
extern "C" __global__ void heat_steps(float *x, int steps) {
  __shared__ float u[2][64];
  int t = threadIdx.x, from = 0;
  u[0][t] = x[t];
  __syncthreads();
  for (int s = 0; s < steps; ++s) {
    float left = t ? u[from][t - 1] : 0, right = t < 63 ? u[from][t + 1] : 0;
    u[1 - from][t] = 0.25f * left + 0.5f * u[from][t] + 0.25f * right;
    from = 1 - from;
    __syncthreads();
  }
  x[t] = u[from][t];
}

extern "C" __global__ void game_of_life(const unsigned char *x,
                                        unsigned char *y, int n) {
  int c = threadIdx.x, r = blockIdx.x, alive = 0;
  for (int dr = -1; dr <= 1; ++dr)
    for (int dc = -1; dc <= 1; ++dc)
      if (dr || dc)
        alive += x[(r + dr + n) % n * n + (c + dc + n) % n];
  y[r * n + c] = alive == 3 || (alive == 2 && x[r * n + c]);
}
