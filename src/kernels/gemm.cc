// SPDX-License-Identifier: Apache-2.0
// Blocks of `a` and `b` are copied into panels so that the innermost loops read memory straight on;
// see Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 2008.
#include "kernels/gemm.h"

#include <algorithm>
#include <vector>

namespace gradstone::kernels {
namespace {

constexpr std::int64_t kTileRows = 6;
template <class T>
constexpr std::int64_t kTileColumns = 64 / sizeof(T);  // two 32-byte vectors
// A panel of b (kDepthBlock x kTileColumns) stays in the first-level cache, a block of a in the
// second, a block of b in the third.
constexpr std::int64_t kDepthBlock = 256;
constexpr std::int64_t kRowBlock = 16 * kTileRows;
constexpr std::int64_t kColumnBlock = 1024;

// `matrix` (extent x depth) as panels of `width` rows, each stored depth by depth; missing rows are
// zero.
template <class T>
void pack(const MatrixRef<T>& matrix, std::int64_t extent, std::int64_t depth, std::int64_t width,
          std::vector<T>& panels) {
  panels.resize(static_cast<std::size_t>((extent + width - 1) / width * width * depth));
  T* out = panels.data();
  for (std::int64_t first = 0; first < extent; first += width) {
    const std::int64_t present = std::min(width, extent - first);
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* in = matrix.data + first * matrix.row_stride + k * matrix.column_stride;
      for (std::int64_t i = 0; i < present; ++i) out[i] = in[i * matrix.row_stride];
      for (std::int64_t i = present; i < width; ++i) out[i] = 0;
      out += width;
    }
  }
}

template <class T>
struct Tile {
  const T* a = nullptr;  // a panel: depth x kTileRows
  const T* b = nullptr;  // a panel: depth x kTileColumns
  std::int64_t depth = 0;
  T* c = nullptr;
  std::int64_t c_stride = 0, rows = 0, columns = 0;  // the part of the tile inside c
};

// Eight or four elements that the compiler keeps in one register, or in two where registers are
// narrower. Left to itself GCC 12 spills the tile of sums.
template <class T>
struct VectorOf {
  using Type [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

// One tile of c += a b. Inlined into a function for each instruction set.
template <class T>
[[gnu::always_inline]] inline void add_tile(const Tile<T>& tile) {
  using Vector = typename VectorOf<T>::Type;
  Vector sums[kTileRows][2] = {};
  const T* a = tile.a;
  const Vector* b = reinterpret_cast<const Vector*>(tile.b);
  for (std::int64_t k = 0; k < tile.depth; ++k, a += kTileRows, b += 2) {
#pragma GCC unroll 6
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      sums[i][0] += a[i] * b[0];
      sums[i][1] += a[i] * b[1];
    }
  }
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const T* row = reinterpret_cast<const T*>(sums[i]);
    for (std::int64_t j = 0; j < tile.columns; ++j) tile.c[i * tile.c_stride + j] += row[j];
  }
}

template <class T>
void add_tile_generic(const Tile<T>& tile) {
  add_tile(tile);
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void add_tile_avx2(const Tile<T>& tile) {
  add_tile(tile);
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
template <class T>
void add_tile_avx2(const Tile<T>& tile) {
  add_tile(tile);
}
bool has_avx2() { return false; }
#endif

template <class T>
struct Block {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const std::vector<T>& a;
  const std::vector<T>& b;
};

template <class T>
void add_block(const Block<T>& block, T* c, std::int64_t c_stride) {
  const auto add = has_avx2() ? add_tile_avx2<T> : add_tile_generic<T>;
  for (std::int64_t j = 0; j < block.columns; j += kTileColumns<T>) {
    for (std::int64_t i = 0; i < block.rows; i += kTileRows) {
      add({block.a.data() + i * block.depth, block.b.data() + j * block.depth, block.depth,
           c + i * c_stride + j, c_stride, std::min(kTileRows, block.rows - i),
           std::min(kTileColumns<T>, block.columns - j)});
    }
  }
}

template <class T>
MatrixRef<T> part(const MatrixRef<T>& matrix, std::int64_t row, std::int64_t column) {
  return {matrix.data + row * matrix.row_stride + column * matrix.column_stride, matrix.row_stride,
          matrix.column_stride};
}

}  // namespace

template <class T>
void add_product(const GemmSizes& sizes, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c) {
  std::vector<T> a_panels, b_panels;
  for (std::int64_t k = 0; k < sizes.depth; k += kDepthBlock) {
    const std::int64_t depth = std::min(kDepthBlock, sizes.depth - k);
    for (std::int64_t j = 0; j < sizes.columns; j += kColumnBlock) {
      const std::int64_t columns = std::min(kColumnBlock, sizes.columns - j);
      pack(part(b, k, j).transposed(), columns, depth, kTileColumns<T>, b_panels);
      for (std::int64_t i = 0; i < sizes.rows; i += kRowBlock) {
        const std::int64_t rows = std::min(kRowBlock, sizes.rows - i);
        pack(part(a, i, k), rows, depth, kTileRows, a_panels);
        add_block<T>({rows, columns, depth, a_panels, b_panels}, c + i * sizes.columns + j,
                     sizes.columns);
      }
    }
  }
}

template void add_product(const GemmSizes&, const MatrixRef<float>&, const MatrixRef<float>&,
                          float*);
template void add_product(const GemmSizes&, const MatrixRef<double>&, const MatrixRef<double>&,
                          double*);

}  // namespace gradstone::kernels
