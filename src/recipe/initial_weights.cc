// SPDX-License-Identifier: Apache-2.0
#include "recipe/initial_weights.h"

#include <cmath>
#include <vector>

#include "base/random.h"

namespace gradstone {
namespace {

struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const Shape& shape) {
  if (shape.empty()) return {};
  const double elements = static_cast<double>(element_count(shape));
  if (shape.size() == 1) return {elements, elements};
  return {elements / static_cast<double>(shape[0]), elements / static_cast<double>(shape[1])};
}

void scale(std::span<double> numbers, double factor, double offset) {
  for (double& number : numbers) number = offset + factor * number;
}

void fill_uniform(std::string_view name, std::uint64_t seed, double low, double high,
                  std::span<double> numbers) {
  CounterRandom(seed, stream_of(name)).fill_uniform(0, numbers);
  scale(numbers, high - low, low);
}

void fill_normal(std::string_view name, std::uint64_t seed, double mean, double deviation,
                 std::span<double> numbers) {
  CounterRandom(seed, stream_of(name)).fill_normal(0, numbers);
  scale(numbers, deviation, mean);
}

// Draw k of element i is number i of stream k; the first one inside two deviations counts.
void fill_truncated_normal(std::string_view name, std::uint64_t seed, double mean, double deviation,
                           std::span<double> numbers) {
  constexpr double kBound = 2;
  const std::uint64_t stream = stream_of(name);
  CounterRandom(seed, stream).fill_normal(0, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::uint64_t draw = 1; std::abs(numbers[i]) > kBound; ++draw) {
      numbers[i] = CounterRandom(seed, stream + draw).normal(i);
    }
  }
  scale(numbers, deviation, mean);
}

void fill(const Weight& weight, std::uint64_t seed, std::span<double> numbers) {
  const Initializer& initializer = weight.initializer;
  const double a = initializer.a, b = initializer.b;
  const Fans fans = fans_of(weight.type.shape);
  const std::string name = "weights/" + weight.name;
  const auto uniform_within = [&](double limit) {
    fill_uniform(name, seed, -limit, limit, numbers);
  };
  switch (initializer.distribution) {
    case Distribution::kConstant:
      return scale(numbers, 0, a);
    case Distribution::kUniform:
      return fill_uniform(name, seed, a, b, numbers);
    case Distribution::kNormal:
      return fill_normal(name, seed, a, b, numbers);
    case Distribution::kTruncatedNormal:
      return fill_truncated_normal(name, seed, a, b, numbers);
    case Distribution::kXavierUniform:
      return uniform_within(a * std::sqrt(6 / (fans.in + fans.out)));
    case Distribution::kXavierFanIn:
      return uniform_within(a * std::sqrt(3 / fans.in));
    case Distribution::kHeNormal:
      return fill_normal(name, seed, 0, a * std::sqrt(2 / fans.in), numbers);
    case Distribution::kHeNormalFanOut:
      return fill_normal(name, seed, 0, a * std::sqrt(2 / fans.out), numbers);
    case Distribution::kFanInUniform:
      return uniform_within(a / std::sqrt(fans.in));
  }
}

template <class T>
void write_mask(std::span<const double> uniforms, double ratio, T* mask) {
  const T kept = static_cast<T>(1 / (1 - ratio));
  for (std::size_t i = 0; i < uniforms.size(); ++i) mask[i] = uniforms[i] < ratio ? T{0} : kept;
}

}  // namespace

Tensor initial_value(const Weight& weight, std::uint64_t seed) {
  Tensor value({DType::kFloat64, weight.type.shape});
  fill(weight, seed, value.as<double>());
  if (weight.type.dtype == DType::kFloat64) return value;
  return converted(value.ref(), weight.type.dtype);
}

void fill_dropout_mask(std::string_view node, std::uint64_t seed, std::int64_t step, double ratio,
                       TensorSink mask) {
  CHECK(ratio >= 0 && ratio < 1, "a dropout ratio is at least 0 and below 1");
  CHECK(is_floating(mask.type.dtype), "a dropout mask is multiplied with floating values");
  const std::size_t elements = static_cast<std::size_t>(mask.type.elements());
  std::vector<double> uniforms(elements);
  const CounterRandom random(seed, stream_of("dropout/" + std::string(node)));
  random.fill_uniform(static_cast<std::uint64_t>(step) * elements, uniforms);
  if (mask.type.dtype == DType::kFloat32) {
    write_mask(uniforms, ratio, reinterpret_cast<float*>(mask.data));
  } else {
    write_mask(uniforms, ratio, reinterpret_cast<double*>(mask.data));
  }
}

}  // namespace gradstone
