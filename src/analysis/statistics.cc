// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/result.h"

namespace gradstone {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kUpper = 0.975;  // upper end of a two-sided 95 % interval

// NaN has no order; sorting it would be undefined.
bool has_nan(std::span<const double> samples) {
  return std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); });
}

double sum(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

// Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's
// method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kPrecision = 1e-16;
  constexpr int kMaxTerms = 10'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      factor = c * d;
      result *= factor;
    }
    if (std::abs(factor - 1) < kPrecision) break;
  }
  return result;
}

// I_x(a, b)
double regularized_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast below the mean only; above it use the symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %; 0 where n is too small.
std::size_t lower_rank(std::size_t n) {
  double below = 0;  // P(X <= k - 1)
  double log_term = -static_cast<double>(n) * std::log(2.0);
  for (std::size_t k = 0; k < n; ++k) {
    below += std::exp(log_term);
    if (below > 1 - kUpper) return k;
    log_term += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
  }
  return 0;
}

// Sums of `batches` runs of consecutive samples of nearly equal length.
std::vector<double> batch_sums(std::span<const double> samples, std::size_t batches) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t begin = samples.size() * i / batches;
    const std::size_t end = samples.size() * (i + 1) / batches;
    sums.push_back(sum(samples.subspan(begin, end - begin)));
  }
  return sums;
}

}  // namespace

double mean(std::span<const double> samples) {
  return samples.empty() ? kNan : sum(samples) / static_cast<double>(samples.size());
}

double variance(std::span<const double> samples) {
  if (samples.size() < 2) return kNan;
  const double center = mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - center) * (sample - center);
  return squares / static_cast<double>(samples.size() - 1);
}

double quantile(std::span<const double> samples, double probability) {
  CHECK(probability >= 0 && probability <= 1, "a probability lies in [0, 1]");
  if (samples.empty() || has_nan(samples)) return kNan;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double student_t_probability(double t, double degrees) {
  CHECK(degrees > 0, "degrees of freedom are positive");
  const double tail = 0.5 * regularized_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double probability, double degrees) {
  CHECK(probability > 0 && probability < 1, "a probability lies in (0, 1)");
  if (probability < 0.5) return -student_t_quantile(1 - probability, degrees);
  double low = 0, high = 1;
  while (student_t_probability(high, degrees) < probability && high < 1e300) high *= 2;
  // Halving until neighbours: the probability rises with t, so this cannot fail.
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (student_t_probability(middle, degrees) < probability ? low : high) = middle;
  }
}

Estimate mean_estimate(std::span<const double> samples) {
  Estimate estimate{mean(samples), {}, {}};
  if (samples.size() < 2) return estimate;
  const double count = static_cast<double>(samples.size());
  const double half = student_t_quantile(kUpper, count - 1) * std::sqrt(variance(samples) / count);
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

Estimate median_estimate(std::span<const double> samples) {
  Estimate estimate{median(samples), {}, {}};
  const std::size_t rank = lower_rank(samples.size());
  if (rank == 0 || has_nan(samples)) return estimate;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  estimate.low = sorted[rank - 1];
  estimate.high = sorted[sorted.size() - rank];
  return estimate;
}

Estimate ratio_estimate(std::span<const double> numerators, std::span<const double> denominators) {
  CHECK(numerators.size() == denominators.size(), "a ratio needs pairs");
  const double total = sum(denominators);
  Estimate estimate{sum(numerators) / total, {}, {}};
  const std::size_t batches = std::min(numerators.size(), kBatches);
  if (batches < 2) return estimate;
  const std::vector<double> tops = batch_sums(numerators, batches);
  const std::vector<double> bottoms = batch_sums(denominators, batches);
  double squares = 0;
  for (std::size_t i = 0; i < batches; ++i) {
    const double residual = tops[i] - estimate.value * bottoms[i];
    squares += residual * residual;
  }
  const double count = static_cast<double>(batches);
  const double error = std::sqrt(squares / (count - 1) * count) / total;
  const double half = student_t_quantile(kUpper, count - 1) * error;
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

}  // namespace gradstone
