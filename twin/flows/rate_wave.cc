// SPDX-License-Identifier: Apache-2.0
#include "flows/rate_wave.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery::flows {

RateWave::RateWave(std::vector<WavePoint> points, bool repeats) : points_(std::move(points)), repeats_(repeats) {}

RateWave::RateWave(double rate_bps) : RateWave({{0, rate_bps}}, false) {}

double RateWave::at(double seconds) const {
  const double period_s = points_.back().at_s;
  if (repeats_ && period_s > 0) seconds = std::fmod(seconds, period_s);
  const auto after =
      std::find_if(points_.begin(), points_.end(), [seconds](const WavePoint& point) { return seconds < point.at_s; });
  if (after == points_.begin()) return points_.front().rate_bps;
  if (after == points_.end()) return points_.back().rate_bps;
  const auto before = after - 1;
  const double part = (seconds - before->at_s) / (after->at_s - before->at_s);
  return before->rate_bps + part * (after->rate_bps - before->rate_bps);
}

}  // namespace orrery::flows
