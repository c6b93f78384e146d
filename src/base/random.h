// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). Every number is a pure function of (seed, stream, index), so weights, data
// order and dropout masks are the same on every machine, in any order, from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gradstone {

// One stream of numbers. `stream` separates uses of one seed; take it from
// `stream_of("weights/conv1.weight")`.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  // The 128 random bits of block `index`.
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;
  // 64 random bits; number `index` of the stream.
  std::uint64_t bits(std::uint64_t index) const;
  // Uniform in [0, 1) with 53 random bits.
  double uniform(std::uint64_t index) const;
  // Standard normal by Box-Muller: numbers 2 i and 2 i + 1 are the pair made from block i.
  double normal(std::uint64_t index) const;
  // Numbers first, first + 1, ... of `uniform` and `normal`, at half the cost a number.
  void fill_uniform(std::uint64_t first, std::span<double> numbers) const;
  void fill_normal(std::uint64_t first, std::span<double> numbers) const;
  // Uniform integer in [0, bound); bound > 0. Multiply-shift; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t index, std::uint64_t bound) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

// A stable 64-bit number for a name (FNV-1a).
std::uint64_t stream_of(std::string_view name);

// A uniformly random permutation of 0..size-1 (Fisher-Yates).
std::vector<std::uint32_t> permutation(const CounterRandom& random, std::size_t size);

}  // namespace gradstone
