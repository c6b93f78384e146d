// SPDX-License-Identifier: Apache-2.0
#include "conformance/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gradstone {
namespace {

struct Worst {
  std::int64_t off = 0;  // elements
  std::int64_t index = -1;
  double excess = 0;  // difference over what is allowed
  double difference = 0, allowed = 0;
};

Worst worst_of(const TensorRef& actual, const TensorRef& expected, const Tolerance& tolerance) {
  Worst worst;
  const double floor = tolerance.absolute * scale_of(expected);
  for (std::int64_t i = 0; i < expected.type.elements(); ++i) {
    const double a = element_as_double(actual, i), e = element_as_double(expected, i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double allowed = std::isfinite(e) ? tolerance.relative * std::abs(e) + floor : 0;
    const double difference = std::abs(a - e);
    if (difference <= allowed) continue;  // false where it is not a number
    ++worst.off;
    const double excess = std::isfinite(difference) ? difference / std::max(allowed, 1e-300)
                                                    : std::numeric_limits<double>::infinity();
    if (worst.index >= 0 && excess <= worst.excess) continue;
    worst.index = i;
    worst.excess = excess;
    worst.difference = difference;
    worst.allowed = allowed;
  }
  return worst;
}

template <class T>
std::int64_t first_unequal(const TensorRef& actual, const TensorRef& expected) {
  const auto a = actual.as<T>(), e = expected.as<T>();
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (a[i] != e[i]) return static_cast<std::int64_t>(i);
  }
  return -1;
}

// As doubles, 64-bit integers far from zero would look equal.
std::optional<std::string> integer_difference(const TensorRef& actual, const TensorRef& expected) {
  const std::int64_t i = first_unequal<std::int64_t>(actual, expected);
  if (i < 0) return std::nullopt;
  return fmt::format("at {}: {}, expected {}", index_text(expected.type.shape, i),
                     actual.as<std::int64_t>()[static_cast<std::size_t>(i)],
                     expected.as<std::int64_t>()[static_cast<std::size_t>(i)]);
}

}  // namespace

Tolerance data_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return {1e-5, 2e-6};
    case DType::kFloat64:
      return {1e-7, 1e-9};
    default:
      return {};
  }
}

double scale_of(const TensorRef& tensor) {
  double scale = 1e-30;
  for (std::int64_t i = 0; i < tensor.type.elements(); ++i) {
    const double value = std::abs(element_as_double(tensor, i));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  return scale;
}

std::string index_text(const Shape& shape, std::int64_t index) {
  Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return to_string(place);
}

std::optional<std::string> difference(const TensorRef& actual, const TensorRef& expected,
                                      const Tolerance& tolerance) {
  if (actual.type != expected.type) {
    return "is " + to_string(actual.type) + ", expected " + to_string(expected.type);
  }
  if (expected.type.dtype == DType::kInt64) return integer_difference(actual, expected);
  const Worst worst = worst_of(actual, expected, tolerance);
  if (worst.index < 0) return std::nullopt;
  return fmt::format("{} of {} elements are off, most at {}: {:.9g}, expected {:.9g} (off by {:.3g}, "
                     "tolerance {:.3g})",
                     worst.off, expected.type.elements(),
                     index_text(expected.type.shape, worst.index),
                     element_as_double(actual, worst.index),
                     element_as_double(expected, worst.index), worst.difference, worst.allowed);
}

}  // namespace gradstone
