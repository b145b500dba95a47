// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "board/device/device.h"
#include "board/image/reader.h"
#include "board/profile.h"

namespace orrery::board {

struct LoadRequest {
  std::optional<size_t> slot;  // none: full
  ImageKind kind = ImageKind::kPartial;
  std::string path;
  Policy policy = Policy::kHold;
};

// The current load, or the last one.
struct LoadRecord {
  uint64_t id = 0;
  LoadRequest request;
  const char* state = "write init";  // in fpga_manager's vocabulary
  std::string error;
  uint64_t bytes = 0;
  uint64_t bytes_total = 0;
  double modelled_s = 0;  // board time that the device takes
  double measured_s = 0;  // wall-clock time from decoupling until the new module answers
};

// Configures the device from one image at a time: hold, drain, decouple, transfer at the profile's rate, swap, verify.
// The slots are then `kConfiguring`. A bad image leaves its slots `kFaulty`.
class Loader {
 public:
  // `time_scale`: wall-clock seconds per modelled second.
  Loader(Device& device, const Profile& profile, const Library& library, PublicKey key, double time_scale);

  // Opens the image and checks its header. Throws ImageError, and std::system_error if the file cannot be read.
  std::unique_ptr<ImageReader> open(const LoadRequest& request) const;

  // Precondition: not busy(); `image` is from open() of this request.
  void begin(LoadRequest request, std::unique_ptr<ImageReader> image, uint64_t now_ns);

  bool busy() const { return reader_ != nullptr; }
  const std::optional<LoadRecord>& last() const { return record_; }

  // State of the whole board in fpga_manager's vocabulary; "unknown" before the first load.
  const char* board_state() const { return board_state_; }

  // Continues the load. Returns when to call it again; 0: no load is in progress.
  uint64_t step(uint64_t now_ns);

 private:
  void check(const ImageHeader& header, const LoadRequest& request) const;
  void swap();
  void fail(const std::string& error);
  void finish(const char* state);
  uint64_t due_bytes(uint64_t now_ns) const;

  Device& device_;
  const Profile& profile_;
  const Library& library_;
  PublicKey key_;
  double time_scale_;
  std::unique_ptr<ImageReader> reader_;
  std::vector<size_t> targets_;  // slots that the load replaces
  std::optional<LoadRecord> record_;
  const char* board_state_ = "unknown";
  uint64_t start_ns_ = 0;
};

}  // namespace orrery::board
