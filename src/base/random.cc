// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace gradstone {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr double kTwoToMinus53 = 1.0 / 9007199254740992.0;

double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * kTwoToMinus53; }

std::uint64_t join(std::uint32_t high, std::uint32_t low) {
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

using Block = std::array<std::uint32_t, 4>;

std::array<std::uint64_t, 2> pair_of(const Block& words) {
  return {join(words[1], words[0]), join(words[3], words[2])};
}

// Box and Muller 1958: both normals of one block.
std::array<double, 2> normal_pair(const Block& words) {
  const auto pair = pair_of(words);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(pair[0])));  // log of (0, 1]
  const double angle = 2.0 * std::numbers::pi * to_unit(pair[1]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// numbers[i] is element (first + i) % 2 of pair_at((first + i) / 2); each pair is made once.
template <class PairAt>
void fill_pairs(std::uint64_t first, std::span<double> numbers, PairAt pair_at) {
  std::size_t i = 0;
  if (first % 2 == 1 && !numbers.empty()) numbers[i++] = pair_at(first / 2)[1];
  for (; i + 1 < numbers.size(); i += 2) {
    const auto pair = pair_at((first + i) / 2);
    numbers[i] = pair[0];
    numbers[i + 1] = pair[1];
  }
  if (i < numbers.size()) numbers[i] = pair_at((first + i) / 2)[0];
}

}  // namespace

std::array<std::uint32_t, 4> CounterRandom::block(std::uint64_t index) const {
  std::array<std::uint32_t, 4> counter = {
      static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
      static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed_);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0,
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1,
               static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

std::uint64_t CounterRandom::bits(std::uint64_t index) const {
  return pair_of(block(index / 2))[index % 2];
}

double CounterRandom::uniform(std::uint64_t index) const { return to_unit(bits(index)); }

double CounterRandom::normal(std::uint64_t index) const {
  return normal_pair(block(index / 2))[index % 2];
}

void CounterRandom::fill_uniform(std::uint64_t first, std::span<double> numbers) const {
  fill_pairs(first, numbers, [this](std::uint64_t index) {
    const auto pair = pair_of(block(index));
    return std::array<double, 2>{to_unit(pair[0]), to_unit(pair[1])};
  });
}

void CounterRandom::fill_normal(std::uint64_t first, std::span<double> numbers) const {
  fill_pairs(first, numbers, [this](std::uint64_t index) { return normal_pair(block(index)); });
}

std::uint64_t CounterRandom::below(std::uint64_t index, std::uint64_t bound) const {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits(index)) * bound) >> 64);
}

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const unsigned char byte : name) hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

std::vector<std::uint32_t> permutation(const CounterRandom& random, std::size_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

}  // namespace gradstone
