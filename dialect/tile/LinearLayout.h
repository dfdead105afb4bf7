//===- LinearLayout.h - Which thread holds which element --------*- C++ -*-===//
//
// A linear layout over F2 times an outer repetition (arXiv:2505.23819). Each
// bit of the register, lane and warp index has a basis vector [row, column];
// the coordinate of an element is the exclusive or of the bases of the bits
// that are set, plus the offset of its repetition. Registers count the linear
// part fastest, then repetitions along columns, then along rows. Properties are
// rank computations. No MLIR here, so that they can be unit-tested quickly.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_DIALECT_TILE_LINEARLAYOUT_H
#define TANDEM_DIALECT_TILE_LINEARLAYOUT_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::tile {

/// [row, column]; also a coordinate.
using Basis = std::array<int32_t, 2>;
using Bases = std::vector<Basis>;

/// Dimensions of a tile.
inline constexpr int rowDim = 0;
inline constexpr int colDim = 1;
/// Threads of a warp.
inline constexpr int lanesPerWarp = 32;

struct LinearLayout {
  Bases registers;
  Bases lanes;
  Bases warps;
  std::array<int32_t, 2> repeat = {1, 1};

  bool operator==(const LinearLayout &) const = default;

  /// Why this is not a layout: a negative coordinate, a number of lanes other
  /// than 32, a zero register basis, bases that name an element twice or leave
  /// one out, a repetition below 1. Empty when it is one; everything below
  /// assumes that.
  std::string problem() const;

  /// Rows and columns of the linear part, and of the whole tile.
  std::array<int64_t, 2> linearShape() const;
  std::array<int64_t, 2> shape() const;

  int numWarps() const { return 1 << warps.size(); }
  int numThreads() const { return lanesPerWarp * numWarps(); }
  /// Elements that each thread holds.
  int64_t numRegisters() const;
  int64_t numLinearRegisters() const { return int64_t(1) << registers.size(); }

  /// Coordinate of register \p reg of lane \p lane of warp \p warp.
  Basis coordinate(int64_t reg, int lane, int warp) const;
  /// The part of the coordinate that the register contributes. Only for
  /// layouts whose bases touch disjoint coordinate bits is it simply added to
  /// the thread's part; otherwise the linear parts combine by exclusive or.
  Basis registerCoordinate(int64_t reg) const { return coordinate(reg, 0, 0); }
  Basis threadCoordinate(int lane, int warp) const {
    return coordinate(0, lane, warp);
  }
  /// Whether register and thread parts touch disjoint bits, so that their
  /// coordinates add (true for every basis that is a power of two).
  bool registersAdd() const;
  /// Whether every basis moves along one dim only.
  bool isAxisAligned() const;

  /// The layout with dim \p dim shrunk to 1: the bases' coordinate along it is
  /// 0, zero register bases are gone, repetition along it is 1. Needs
  /// isAxisAligned().
  LinearLayout dropDim(int dim) const;
  LinearLayout dropColumns() const { return dropDim(colDim); }
  LinearLayout dropRows() const { return dropDim(rowDim); }
  LinearLayout transpose() const;
  /// Whether rows and columns are powers of two and nothing repeats; and then
  /// the layout of the same elements, in row-major order, in rows of \p cols.
  bool isReshapable() const { return repeat[0] == 1 && repeat[1] == 1; }
  LinearLayout reshape(int64_t cols) const;
  /// Whether each two neighbouring columns lie in one thread, and the layout
  /// with both as one column.
  bool hasColumnPairs() const;
  LinearLayout halveColumns() const;
  /// The register of dropDim(dim) that holds what register \p reg projects to.
  int64_t projectRegister(int64_t reg, int dim) const;

  /// Whether several lanes, or warps, hold the same element.
  bool isReplicatedInLanes() const;
  bool isReplicatedInWarps() const;
  /// Bits of the lane and warp index that change no coordinate: the thread
  /// whose bits under these masks are 0 owns the element.
  uint32_t replicatedLaneBits() const;
  uint32_t replicatedWarpBits() const;

  /// `register = [[0, 1]], lane = [...], warp = [], repeat = [1, 2]`.
  std::string text() const;

  //===--- Factories
  //-------------------------------------------------------===//

  /// A tile whose columns are dealt first: \p vector neighbouring columns to a
  /// thread, then lanes, then warps along the columns as far as they divide
  /// \p cols, then repetitions; what lanes and warps remain go along the rows,
  /// then replicate. \p maxColumnLanes < 32 puts several rows in a warp;
  /// \p maxColumnWarps < warps puts warps on different rows. All but rows and
  /// cols are powers of two; vector divides cols.
  static LinearLayout blocked(int64_t rows, int64_t cols, int vector, int warps,
                              int maxColumnLanes = lanesPerWarp,
                              int maxColumnWarps = 1 << 30);

  /// f32 accumulator of mma.m16n8k16 (PTX ISA, "Matrix fragments for
  /// mma.m16n8k16"), \p warpsM x \p warpsN warps side by side, repeated to
  /// \p m x \p n. m is a multiple of 16 warpsM, n of 8 warpsN.
  static LinearLayout mmaAccumulator(int64_t m, int64_t n, int warpsM,
                                     int warpsN);
  /// 16-bit operands for a dot into \p accumulator (of the form above) with
  /// \p k a multiple of 16: A is m x k, B is n x k.
  static LinearLayout mmaOperandA(const LinearLayout &accumulator, int64_t k);
  static LinearLayout mmaOperandB(const LinearLayout &accumulator, int64_t k);
  /// Whether this layout is an mmaAccumulator.
  bool isMmaAccumulator() const;

  /// Why mma.m16n8k16 cannot multiply \p groups pairs of tiles in these layouts
  /// (of no repetition): empty where it can. In each, lane bits 2 to 4 go along
  /// the operand's rows; lane bits 0 and 1 along k, for the accumulator along
  /// its columns in the order of lane bits 3 and 4 of \p b, whose lane bit 2 is
  /// its first register bit. A second one may be a row of \p a: without any row
  /// in registers, rows 8 to 15 of the instruction are 0. Both operands have
  /// the same register bits along k, the first two within an instruction.
  static std::string mmaProblem(const LinearLayout &a, const LinearLayout &b,
                                const LinearLayout &accumulator, int groups);

  /// Accumulator of the fma path: lanes as 4 x 8 over rows and columns, warps
  /// warpsM x warpsN, each thread \p threadN neighbouring columns, repeated.
  static LinearLayout fmaAccumulator(int64_t m, int64_t n, int warpsM,
                                     int warpsN, int threadN = 4);
  /// Operands for an fma dot into \p accumulator (any axis-aligned layout):
  /// its rows (its columns) with k in registers.
  static LinearLayout fmaOperandA(const LinearLayout &accumulator, int64_t k);
  static LinearLayout fmaOperandB(const LinearLayout &accumulator, int64_t k);
};

/// Rank over F2 of \p vectors, each at most 64 bits.
int rankF2(std::vector<uint64_t> vectors);

/// The largest power of two v such that registers come in groups of v
/// neighbouring columns that start at a multiple of v: the widest vector access
/// in elements.
int contiguousColumns(const LinearLayout &layout);

/// Bytes that a warp's access of \p vector elements of \p elementBytes covers,
/// divided by the bytes of the 32-byte sectors that it touches, when a row's
/// columns are contiguous: 1 is perfectly coalesced.
double sectorEfficiency(const LinearLayout &layout, int elementBytes,
                        int vector);

/// Shared-memory bank conflicts: the most lanes of a warp that need different
/// words of one bank at once, when element (i, j) lies at
/// i * pitch + j elements of \p elementBytes and each lane accesses \p vector
/// elements. 1 is conflict-free.
int bankConflicts(const LinearLayout &layout, int elementBytes, int vector,
                  int64_t pitch);

} // namespace tandem::tile

#endif // TANDEM_DIALECT_TILE_LINEARLAYOUT_H
