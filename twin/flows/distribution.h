// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace orrery::flows {

// A point of a cumulative distribution: this share of the values is at most `value`.
struct Breakpoint {
  double value;
  double share;
};

// A distribution that is uniform between its breakpoints. Precondition: values and shares ascend, shares from 0 to 1.
class Distribution {
 public:
  explicit constexpr Distribution(std::span<const Breakpoint> points) : points_(points) {}

  // share: 0 to 1.
  double quantile(double share) const;
  double mean() const;

 private:
  std::span<const Breakpoint> points_;
};

// Sizes of flows in bytes, and their lifetimes in seconds where these were published. A flow has the same quantile of
// both: large flows live long.
struct FlowShape {
  Distribution sizes;
  std::optional<Distribution> lifetimes;
};

// `web-search`, `data-mining` or `benson-2010`; nothing for another name.
std::optional<FlowShape> flow_shape(std::string_view name);

}  // namespace orrery::flows
