// Hopper's asynchronous instructions, as small functions.
#pragma once
#include <cstdint>
#include <cuda.h>

namespace hopper {

__device__ inline uint32_t sharedAddress(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void init(uint64_t *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                   sharedAddress(barrier)),
               "r"(arrivals)
               : "memory");
}
__device__ inline void fenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                   sharedAddress(barrier))
               : "memory");
}
__device__ inline void expect(uint64_t *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   sharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ inline void wait(uint64_t *barrier, int parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(
                   sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}

/// The same for what other blocks have sent.
__device__ inline void waitCluster(uint64_t *barrier, int parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
               "p, [%0], %1;\n"
               "@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(
                   sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}

__device__ inline void load(void *to, const void *from, int bytes,
                            uint64_t *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes [%0], [%1], %2, [%3];" ::"r"(sharedAddress(to)),
               "l"(from), "r"(bytes), "r"(sharedAddress(barrier))
               : "memory");
}
__device__ inline void loadTile(void *to, const CUtensorMap *map, int x, int y,
                                uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   sharedAddress(to)),
               "l"(map), "r"(x), "r"(y), "r"(sharedAddress(barrier))
               : "memory");
}
__device__ inline void store(void *to, const void *from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::
                   "l"(to),
               "r"(sharedAddress(from)), "r"(bytes)
               : "memory");
}
__device__ inline void commitStores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int keep>
__device__ inline void waitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(keep) : "memory");
}
template <int keep>
__device__ inline void waitStores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(keep) : "memory");
}
__device__ inline void fenceProxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Before fenceProducts: keeps what sets the results before it.
__device__ inline void keep(float (&d)[8]) {
  for (int i = 0; i < 8; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
__device__ inline void keep(int (&d)[8]) {
  for (int i = 0; i < 8; ++i)
    asm volatile("" : "+r"(d[i])::"memory");
}
__device__ inline void fenceProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int keep>
__device__ inline void waitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(keep) : "memory");
}
/// Core matrices of 8 rows of 16 bytes: \p leading bytes to the next along k,
/// \p stride to the next 8 rows.
__device__ inline uint64_t plainDescriptor(const void *p, int leading,
                                           int stride) {
  return (sharedAddress(p) & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 |
         uint64_t(stride >> 4) << 32;
}
/// Rows of 128 bytes, swizzled.
__device__ inline uint64_t swizzledDescriptor(const void *p) {
  return (sharedAddress(p) & 0x3ffff) >> 4 | uint64_t(1) << 16 |
         uint64_t(64) << 32 | uint64_t(1) << 62;
}

__device__ inline void multiply(float (&d)[8], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),
                 "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "l"(a), "l"(b)
               : "memory");
}
__device__ inline void multiplyBytes(int (&d)[8], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]),
                 "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
               : "l"(a), "l"(b)
               : "memory");
}
__device__ inline void multiplyFloat8(float (&d)[8], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),
                 "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "l"(a), "l"(b)
               : "memory");
}
/// Row and column of result \p i of thread \p t.
__device__ inline int rowOf(int t, int i) {
  return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
}
__device__ inline int columnOf(int t, int i) {
  return i / 4 * 8 + t % 4 * 2 + i % 2;
}

} // namespace hopper
