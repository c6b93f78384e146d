// SPDX-License-Identifier: Apache-2.0
#include "verify/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The distance of two numbers, of which either may be no finite one.
double distance(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double gap = std::abs(actual - expected);
  return std::isfinite(gap) ? gap : kInfinity;
}

struct Counted {
  std::int64_t departing = 0, excused = 0;
  double worst_right = 0;  // the largest gap that is allowed
};

// Fills what concerns elements of `departure`.
Counted count(const Expectation& expected, const Tensor& actual, Departure& departure) {
  Counted counted;
  double worst = -1;
  for (std::int64_t i = 0; i < departure.elements; ++i) {
    const double value = element_as_double(actual.ref(), i);
    const double exact = element_as_double(expected.exact.ref(), i);
    double gap = distance(value, exact);
    // What the reference itself gives in this type is right: where float32 overflows, say.
    if (distance(value, element_as_double(expected.single.ref(), i)) == 0) gap = 0;
    if (gap <= expected.tolerance.allowed) {
      counted.worst_right = std::max(counted.worst_right, gap);
      continue;
    }
    const auto place = static_cast<std::size_t>(i);
    if (!expected.nonsmooth.empty() && expected.nonsmooth[place]) {
      ++counted.excused;
    } else {
      ++counted.departing;
    }
    if (gap <= worst) continue;
    worst = gap;
    departure.gap = gap;
    departure.element = place;
    departure.expected = exact;
    departure.actual = value;
  }
  return counted;
}

Departure departure_of(const Graph& graph, const Expectation& expected) {
  Departure departure;
  departure.value = expected.value;
  departure.position = expected.node;
  if (expected.node < graph.nodes.size()) {
    departure.node = graph.nodes[expected.node].name;
    departure.op = graph.nodes[expected.node].op;
  }
  departure.backward = expected.backward;
  departure.elements = expected.exact.type().elements();
  departure.tolerance = expected.tolerance;
  return departure;
}

}  // namespace

std::string to_string(const Departure& departure) {
  return fmt::format(
      "node {} ({}), {}: {} is off by {:.3g} (allowed {:.2g}) in {} of {} elements; worst at "
      "element {}: {:.9g}, expected {:.9g}",
      departure.node, departure.op, departure.backward ? "backward" : "forward", departure.value,
      departure.gap, departure.tolerance.allowed, departure.departing, departure.elements,
      departure.element, departure.actual, departure.expected);
}

void Comparison::add(const Comparison& other) {
  tensors += other.tensors;
  elements += other.elements;
  nonsmooth += other.nonsmooth;
  if (other.worst > worst) {
    worst = other.worst;
    worst_value = other.worst_value;
    worst_tolerance = other.worst_tolerance;
  }
  departures.insert(departures.end(), other.departures.begin(), other.departures.end());
}

Comparison compare(const Graph& graph, const std::vector<Expectation>& expected,
                   const TensorMap& answers) {
  Comparison comparison;
  for (const Expectation& one : expected) {
    Departure departure = departure_of(graph, one);
    ++comparison.tensors;
    comparison.elements += departure.elements;
    const auto found = answers.find(one.value);
    if (found == answers.end() || found->second.type() != one.single.type()) {
      departure.departing = departure.elements;
      departure.gap = kInfinity;
      comparison.departures.push_back(std::move(departure));
      continue;
    }
    const Counted counted = count(one, found->second, departure);
    const auto most = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(kMostNonsmooth * static_cast<double>(departure.elements)));
    comparison.nonsmooth += counted.excused;
    if (counted.departing > 0 || counted.excused > most) {
      departure.departing = counted.departing + counted.excused;
      comparison.departures.push_back(std::move(departure));
      continue;
    }
    if (one.tolerance.allowed > 0) {
      const double share = counted.worst_right / one.tolerance.allowed;
      if (share > comparison.worst || comparison.worst_value.empty()) {
        comparison.worst = share;
        comparison.worst_value = one.value;
        comparison.worst_tolerance = one.tolerance;
      }
    }
  }
  return comparison;
}

const Departure* first_departure(const Comparison& comparison) {
  const auto before = [](const Departure& a, const Departure& b) {
    return std::pair(a.position, a.backward) < std::pair(b.position, b.backward);
  };
  const auto first =
      std::min_element(comparison.departures.begin(), comparison.departures.end(), before);
  return first == comparison.departures.end() ? nullptr : &*first;
}

}  // namespace gradstone
