// SPDX-License-Identifier: Apache-2.0
// Figures as a person reads them: scaled to their unit, with their interval. Machine formats do not
// use this.
#pragma once

#include <string>
#include <string_view>

#include "record/record.h"

namespace gradstone {

// "12.3 ms", "1.5 GiB", "4.21 GFLOP/s", "5123 samples/s", "0.873", "431,080"; "-" where it is not
// finite.
std::string figure_text(double value, std::string_view unit);
// The same without the unit where that stands in a column title ("samples/s", "1").
std::string bare_figure_text(double value, std::string_view unit);
// " ±0.9%": half the interval, relative to the value; "" without an interval.
std::string spread_text(const MetricValue& metric);
// "[12.1 ms, 12.9 ms]", or "".
std::string interval_text(const MetricValue& metric);
// "2026-11-30 09:35:12" in UTC; "" for 0.
std::string time_text(std::int64_t unix_ms);

}  // namespace gradstone
