// SPDX-License-Identifier: Apache-2.0
#include "board/device/loader.h"

#include <algorithm>
#include <numeric>

#include "board/sim/shell_build.h"
#include "support/clock.h"

namespace orrery::board {
namespace {

constexpr uint64_t kPaceNs = 10'000'000;
// Bytes read in one step; other slots wait that long.
constexpr uint64_t kChunkBytes = 1 << 20;

}  // namespace

Loader::Loader(Device& device, const Profile& profile, const Library& library, PublicKey key, double time_scale)
    : device_(device), profile_(profile), library_(library), key_(std::move(key)), time_scale_(time_scale) {}

void Loader::check(const ImageHeader& header, const LoadRequest& request) const {
  const auto refuse = [](const std::string& detail) { throw ImageError(kIncompatible, detail); };
  if (header.profile != profile_.name) refuse("the image is for " + header.profile + ", the board is " + profile_.name);
  if (header.kind != request.kind)
    refuse(std::string("the image is ") + to_string(header.kind) + ", requested was " + to_string(request.kind));
  if (header.shell != shell_build(profile_.regions.size(), profile_.clock_mhz).uuid)
    refuse("the image is for another shell, " + to_string(header.shell));
  if (request.slot) {
    const std::string& region = profile_.regions[*request.slot].name;
    if (header.region != region) refuse("the image is for region " + header.region + ", the slot is " + region);
    if (header.modules[0] == kNoUuid) refuse("the image names no module");
  } else if (header.modules.size() != profile_.regions.size() || !header.region.empty()) {
    refuse("the image does not match the slots of this device");
  }
  for (const Uuid& module : header.modules)
    if (module != kNoUuid && library_.find(module) == nullptr) refuse("unknown module " + to_string(module));
}

std::unique_ptr<ImageReader> Loader::open(const LoadRequest& request) const {
  auto image = std::make_unique<ImageReader>(request.path, key_);
  check(image->header(), request);
  return image;
}

void Loader::begin(LoadRequest request, std::unique_ptr<ImageReader> image, uint64_t now_ns) {
  LoadRecord record;
  record.id = record_ ? record_->id + 1 : 1;
  record.bytes_total = image->header().payload_bytes;
  record.modelled_s = profile_.load_s(request.kind, record.bytes_total);
  record.request = std::move(request);
  record_ = std::move(record);
  reader_ = std::move(image);
  board_state_ = "write init";
  targets_.clear();
  if (record_->request.slot) {
    targets_.push_back(*record_->request.slot);
  } else {
    targets_.resize(device_.slots());
    std::iota(targets_.begin(), targets_.end(), size_t{0});
  }
  for (const size_t n : targets_) device_.quiesce(n, record_->request.policy);
  if (!record_->request.slot) device_.power_off();
  for (const size_t n : targets_) device_.remove(n, SlotState::kLoading);
  start_ns_ = now_ns;
  record_->state = board_state_ = "write";
}

uint64_t Loader::due_bytes(uint64_t now_ns) const {
  const Configuration& configuration = profile_.configuration(record_->request.kind);
  const double passed_s = static_cast<double>(now_ns - start_ns_) * 1e-9 / time_scale_ - configuration.setup_s;
  if (passed_s <= 0) return 0;
  return static_cast<uint64_t>(
      std::min(passed_s * configuration.bytes_per_s, static_cast<double>(record_->bytes_total)));
}

uint64_t Loader::step(uint64_t now_ns) {
  if (!busy()) return 0;
  try {
    const uint64_t due = due_bytes(now_ns);
    reader_->read_to(due, kChunkBytes);
    record_->bytes = reader_->bytes_read();
    if (record_->bytes < due) return now_ns;
    const auto end_ns = start_ns_ + static_cast<uint64_t>(record_->modelled_s * time_scale_ * 1e9);
    if (due < record_->bytes_total) return std::min(now_ns + kPaceNs, std::max(end_ns, now_ns + 1));
    record_->state = board_state_ = "write complete";
    swap();
    finish("operating");
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return 0;
}

void Loader::swap() {
  if (!record_->request.slot) device_.power_on();
  const ImageHeader& header = reader_->header();
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (header.modules[i] == kNoUuid) {
      device_.remove(targets_[i], SlotState::kEmpty);
    } else {
      device_.insert(targets_[i], *library_.find(header.modules[i]));
    }
  }
}

void Loader::fail(const std::string& error) {
  // Without a complete image the device still has its shell in flash: it comes back with empty slots.
  if (!device_.powered()) device_.power_on();
  for (const size_t n : targets_) {
    if (device_.slot(n).state == SlotState::kConfiguring) continue;
    device_.set_policy(n, Policy::kDrop);
    device_.remove(n, SlotState::kFaulty, error);
  }
  record_->error = error;
  finish(record_->state == std::string("write") ? "write error" : "write complete error");
}

void Loader::finish(const char* state) {
  record_->state = board_state_ = state;
  record_->measured_s = static_cast<double>(monotonic_ns() - start_ns_) * 1e-9;
  reader_.reset();
}

}  // namespace orrery::board
