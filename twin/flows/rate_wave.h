// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace orrery::flows {

struct WavePoint {
  double at_s;
  double rate_bps;
};

// A rate over time, linear between points: before the first one that of the first. After the last one it stays, or
// begins again at time 0.
class RateWave {
 public:
  // Precondition: at least one point, in ascending order of time.
  RateWave(std::vector<WavePoint> points, bool repeats);
  // The same rate all the time.
  explicit RateWave(double rate_bps);

  double at(double seconds) const;

 private:
  std::vector<WavePoint> points_;
  bool repeats_;
};

}  // namespace orrery::flows
