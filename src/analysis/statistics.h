// SPDX-License-Identifier: Apache-2.0
// Estimates from samples, with 95 % intervals where they can be had. Pure functions. Which figure
// comes from which samples stands in metric_catalogue.h.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace gradstone {

// A value and the 95 % interval around it; no interval where the samples are too few for one.
struct Estimate {
  double value = 0;
  std::optional<double> low, high;
};

// Of an empty span, or one that holds a NaN, mean, median and quantile are NaN.
double mean(std::span<const double> samples);
// Unbiased (n - 1). NaN for fewer than two samples.
double variance(std::span<const double> samples);
double median(std::span<const double> samples);
// Linear between order statistics (type 7 of Hyndman and Fan 1996). `probability` in [0, 1].
double quantile(std::span<const double> samples, double probability);

// P(T <= t) and its inverse for Student's t with `degrees` > 0 degrees of freedom, by the
// regularized incomplete beta function. `probability` in (0, 1).
double student_t_probability(double t, double degrees);
double student_t_quantile(double probability, double degrees);

// Mean of independent samples, with Student's interval.
Estimate mean_estimate(std::span<const double> samples);

// Median with the interval between order statistics whose coverage by the binomial distribution is
// at least 95 % (needs no assumption on the distribution; six samples or more).
Estimate median_estimate(std::span<const double> samples);

// sum(numerators) / sum(denominators), the ratio estimator (Cochran, Sampling Techniques, 1977,
// section 6.3), with Student's interval over at most kBatches means of consecutive pairs, which
// makes it hold for correlated neighbours too. The spans have the same length.
inline constexpr std::size_t kBatches = 20;
Estimate ratio_estimate(std::span<const double> numerators, std::span<const double> denominators);

}  // namespace gradstone
