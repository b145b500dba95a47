// SPDX-License-Identifier: Apache-2.0
#include "flows/distribution.h"

#include <algorithm>
#include <array>

namespace orrery::flows {
namespace {

// Web search: Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, Fig. 4, as digitized by its authors for
// empirical-traffic-gen (DCTCP_CDF).
constexpr std::array<Breakpoint, 12> kWebSearch = {{{0, 0},
                                                    {10e3, 0.15},
                                                    {20e3, 0.2},
                                                    {30e3, 0.3},
                                                    {50e3, 0.4},
                                                    {80e3, 0.53},
                                                    {200e3, 0.6},
                                                    {1e6, 0.7},
                                                    {2e6, 0.8},
                                                    {5e6, 0.9},
                                                    {10e6, 0.97},
                                                    {30e6, 1}}};

// Data mining: Greenberg et al., VL2, SIGCOMM 2009, Fig. 2, from the same place (VL2_CDF).
constexpr std::array<Breakpoint, 13> kDataMining = {{{0, 0},
                                                     {180, 0.1},
                                                     {216, 0.2},
                                                     {560, 0.3},
                                                     {900, 0.4},
                                                     {1100, 0.5},
                                                     {1870, 0.6},
                                                     {3160, 0.7},
                                                     {10e3, 0.8},
                                                     {400e3, 0.9},
                                                     {3.16e6, 0.95},
                                                     {100e6, 0.98},
                                                     {1e9, 1}}};

// Benson, Akella and Maltz, Network Traffic Characteristics of Data Centers in the Wild, IMC 2010, 4.2: 80 % of flows
// are smaller than 10 kB and most bytes are in the largest 10 %; 80 % live less than 11 s, many of them some hundred
// milliseconds. Only these are published as numbers; the other points are ours, and the last ones are such that 2,000
// flows a second make 1 Gbit/s and 10,000 at a time, as in E2 3.6.2.
constexpr std::array<Breakpoint, 7> kBensonSizes = {
    {{100, 0}, {300, 0.2}, {1e3, 0.5}, {10e3, 0.8}, {100e3, 0.95}, {1e6, 0.99}, {5.1e6, 1}}};
constexpr std::array<Breakpoint, 4> kBensonLifetimes = {{{0.001, 0}, {0.3, 0.5}, {11, 0.8}, {21.3, 1}}};

}  // namespace

double Distribution::quantile(double share) const {
  const auto* above = std::find_if(points_.data() + 1, points_.data() + points_.size() - 1,
                                   [share](const Breakpoint& point) { return share < point.share; });
  const Breakpoint& from = *(above - 1);
  const double part = (share - from.share) / (above->share - from.share);
  return from.value + std::clamp(part, 0.0, 1.0) * (above->value - from.value);
}

double Distribution::mean() const {
  double sum = 0;
  for (size_t i = 1; i < points_.size(); ++i)
    sum += (points_[i].share - points_[i - 1].share) * (points_[i].value + points_[i - 1].value) / 2;
  return sum;
}

std::optional<FlowShape> flow_shape(std::string_view name) {
  if (name == "web-search") return FlowShape{Distribution(kWebSearch), std::nullopt};
  if (name == "data-mining") return FlowShape{Distribution(kDataMining), std::nullopt};
  if (name == "benson-2010") return FlowShape{Distribution(kBensonSizes), Distribution(kBensonLifetimes)};
  return std::nullopt;
}

}  // namespace orrery::flows
