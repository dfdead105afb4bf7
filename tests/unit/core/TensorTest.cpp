//===- TensorTest.cpp - Shapes, strides and views -------------------------===//
#include "refops/core/Tensor.h"
#include "refops/core/Overlap.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace tandem;

namespace {
/// The byte addresses of all elements, in row-major order.
std::vector<uint64_t> addressesOf(const Operand &operand) {
  // Bytes that are never read: a null pointer must not be moved.
  const TensorDesc &desc = operand.desc;
  std::vector<std::byte> bytes(static_cast<size_t>(desc.extent()) *
                               dtypeSize(desc.dtype));
  const View view = {desc, bytes.data()};
  std::vector<uint64_t> addresses;
  for (int64_t i = 0; i < desc.numElements(); ++i)
    addresses.push_back(operand.address +
                        static_cast<uint64_t>(view.atLinear(i) - view.data));
  return addresses;
}
} // namespace

TEST_SUITE("tensor") {
  TEST_CASE("sizes of views with every kind of dim") {
    const TensorDesc scalar = contiguous(DType::F32, {});
    CHECK(scalar.numElements() == 1);
    CHECK(scalar.extent() == 1);
    CHECK(scalar.isContiguous());
    const TensorDesc empty = contiguous(DType::F32, {3, 0, 5});
    CHECK(empty.numElements() == 0);
    CHECK(empty.extent() == 0);
    CHECK(empty.isContiguous());
    CHECK(empty.strides == Dims{5, 5, 1});
    const TensorDesc padded = {DType::BF16, {4, 60}, {64, 1}};
    CHECK(padded.extent() == 3 * 64 + 60);
    CHECK(!padded.isContiguous());
    CHECK(padded.describe() == "bfloat16[4, 60] strides [64, 1]");
    const TensorDesc ones = {DType::I8, {1, 7, 1}, {0, 1, 99}};
    CHECK(ones.isContiguous());
    CHECK(TensorDesc{DType::F32, {4, 5}, {0, 1}}.extent() == 5);
    // Offsets beyond 2^31 elements.
    CHECK(TensorDesc{DType::F32, {3, 2}, {int64_t(1) << 32, 1}}.extent() ==
          (int64_t(1) << 33) + 2);
  }

  TEST_CASE("elements are found by index and by row-major number") {
    std::vector<float> data(24);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>(i);
    View view = {{DType::F32, {3, 4}, {1, 6}},
                 reinterpret_cast<std::byte *>(data.data())};
    CHECK(loadDouble(DType::F32, view.at({2, 3})) == 20);
    CHECK(view.atLinear(2 * 4 + 3) == view.at({2, 3}));
    CHECK(view.atLinear(0) == view.data);
  }

  TEST_CASE("self-overlap is decided exactly") {
    CHECK(overlapsItself({DType::F32, {4, 5}, {5, 1}}) == Overlap::No);
    CHECK(overlapsItself({DType::F32, {4, 5}, {1, 4}}) == Overlap::No);
    CHECK(overlapsItself({DType::F32, {4, 5}, {0, 1}}) == Overlap::Yes);
    CHECK(overlapsItself({DType::F32, {1, 5}, {0, 1}}) == Overlap::No);
    CHECK(overlapsItself({DType::F32, {0, 5}, {0, 0}}) == Overlap::No);
    CHECK(overlapsItself({DType::F32, {4, 5}, {4, 1}}) == Overlap::Yes);
    // Strides 2 and 3 interleave without meeting in a 3 x 2 view only.
    CHECK(overlapsItself({DType::F32, {3, 2}, {2, 3}}) == Overlap::No);
    CHECK(overlapsItself({DType::F32, {4, 3}, {2, 3}}) == Overlap::Yes);
    CHECK(overlapsItself({DType::F32, {int64_t(1) << 40, 2}, {2, 1}}) ==
          Overlap::No);
  }

  TEST_CASE("self-overlap agrees with the set of addresses") {
    std::mt19937_64 random(2);
    for (int i = 0; i < 2000; ++i) {
      Operand operand;
      operand.desc.dtype = DType::U8;
      for (uint64_t d = 0; d < 1 + random() % 4; ++d) {
        operand.desc.shape.push_back(static_cast<int64_t>(random() % 5));
        operand.desc.strides.push_back(static_cast<int64_t>(random() % 12));
      }
      CAPTURE(operand.desc.describe());
      const std::vector<uint64_t> all = addressesOf(operand);
      const std::set<uint64_t> distinct(all.begin(), all.end());
      CHECK((overlapsItself(operand.desc) == Overlap::Yes) ==
            (distinct.size() != all.size()));
    }
  }

  TEST_CASE("overlap of two views agrees with their bytes") {
    std::mt19937_64 random(3);
    const DType types[] = {DType::U8, DType::F16, DType::F32, DType::F64};
    int disjointInside = 0;
    for (int i = 0; i < 4000; ++i) {
      Operand operands[2];
      std::set<uint64_t> bytes[2];
      for (int k = 0; k < 2; ++k) {
        operands[k].desc.dtype = types[random() % 4];
        const uint64_t size = dtypeSize(operands[k].desc.dtype);
        operands[k].address = 64 + random() % 20 * size;
        for (uint64_t d = 0; d < 1 + random() % 3; ++d) {
          operands[k].desc.shape.push_back(static_cast<int64_t>(random() % 4));
          operands[k].desc.strides.push_back(
              static_cast<int64_t>(random() % 9));
        }
        for (uint64_t address : addressesOf(operands[k]))
          for (uint64_t b = 0; b < size; ++b)
            bytes[k].insert(address + b);
      }
      bool shared = false;
      for (uint64_t byte : bytes[0])
        shared |= bytes[1].contains(byte);
      CHECK((overlaps(operands[0], operands[1]) == Overlap::Yes) == shared);
      disjointInside += !shared && !bytes[0].empty() && !bytes[1].empty() &&
                        *bytes[0].begin() < *bytes[1].rbegin() &&
                        *bytes[1].begin() < *bytes[0].rbegin();
    }
    CHECK(disjointInside > 100); // the case that byte ranges get wrong
  }

  TEST_CASE("large interleaved views are told apart at once") {
    const Operand even = {{DType::F32, {1 << 20, 1 << 20}, {1 << 22, 2}}, 0};
    Operand odd = even;
    odd.address = 4;
    CHECK(overlaps(even, odd) == Overlap::No);
    odd.address = 8;
    CHECK(overlaps(even, odd) == Overlap::Yes);
    const Operand left = {{DType::BF16, {4096, 64}, {128, 1}}, 256};
    const Operand right = {{DType::BF16, {4096, 64}, {128, 1}}, 256 + 128};
    CHECK(overlaps(left, right) == Overlap::No);
  }
}
