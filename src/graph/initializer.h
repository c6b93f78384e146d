// SPDX-License-Identifier: Apache-2.0
// How the first value of a weight is drawn. The numbers themselves come from
// recipe/initial_weights.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradstone {

enum class Distribution {
  kConstant,         // every element is `a`
  kUniform,          // uniform in [a, b)
  kNormal,           // mean a, standard deviation b
  kTruncatedNormal,  // mean a, standard deviation b, redrawn outside two standard deviations
  kXavierUniform,  // Glorot and Bengio 2010, eq. 16: U(-l, l), l = a * sqrt(6 / (fan_in + fan_out))
  kXavierFanIn,    // Caffe's form: U(-l, l), l = a * sqrt(3 / fan_in)
  kHeNormal,       // He et al. 2015, eq. 10: N(0, a * sqrt(2 / fan_in))
  kHeNormalFanOut,  // the same with fan_out
  kFanInUniform,    // Torch's form: U(-l, l), l = a / sqrt(fan_in)
};

struct Initializer {
  Distribution distribution = Distribution::kConstant;
  double a = 0;  // see Distribution; for the fan forms a gain, 1 as a rule
  double b = 0;

  bool operator==(const Initializer&) const = default;
  static Initializer constant(double value) { return {Distribution::kConstant, value, 0}; }
  static Initializer uniform(double low, double high) {
    return {Distribution::kUniform, low, high};
  }
  static Initializer normal(double mean, double deviation) {
    return {Distribution::kNormal, mean, deviation};
  }
  static Initializer truncated_normal(double mean, double deviation) {
    return {Distribution::kTruncatedNormal, mean, deviation};
  }
  static Initializer xavier_uniform(double gain = 1) {
    return {Distribution::kXavierUniform, gain, 0};
  }
  static Initializer xavier_fan_in(double gain = 1) {
    return {Distribution::kXavierFanIn, gain, 0};
  }
  static Initializer he_normal(double gain = 1) { return {Distribution::kHeNormal, gain, 0}; }
  static Initializer he_normal_fan_out(double gain = 1) {
    return {Distribution::kHeNormalFanOut, gain, 0};
  }
  static Initializer fan_in_uniform(double gain = 1) {
    return {Distribution::kFanInUniform, gain, 0};
  }
};

std::string_view name_of(Distribution distribution);  // "xavier_uniform", ...
std::optional<Distribution> distribution_from_name(std::string_view name);

}  // namespace gradstone
