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
  const auto words = block(index / 2);
  return index % 2 == 0 ? join(words[1], words[0]) : join(words[3], words[2]);
}

double CounterRandom::uniform(std::uint64_t index) const { return to_unit(bits(index)); }

double CounterRandom::normal(std::uint64_t index) const {
  const auto words = block(index);
  const double radius_uniform = 1.0 - to_unit(join(words[1], words[0]));  // in (0, 1]
  const double angle = 2.0 * std::numbers::pi * to_unit(join(words[3], words[2]));
  return std::sqrt(-2.0 * std::log(radius_uniform)) * std::cos(angle);
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
