// SPDX-License-Identifier: Apache-2.0
#include "flows/generate.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>

#include "flows/frame_writer.h"
#include "flows/host_interface.h"
#include "flows/transmit_socket.h"
#include "support/clock.h"

namespace orrery::flows {
namespace {

constexpr uint64_t kTellEveryNs = 1'000'000'000;
// A packet that is sent so long after it was due counts as late.
constexpr uint64_t kLateNs = 5'000'000;
// It sleeps no shorter, and so sends in batches at high rates.
constexpr uint64_t kSleepMinNs = 100'000;
// How soon it sees that it is to stop.
constexpr uint64_t kSleepMaxNs = 50'000'000;
// How long flows in progress may take to end at the end of its time, where nobody waits.
constexpr uint64_t kEndMaxNs = 10'000'000'000;

void sleep_ns(uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / kTellEveryNs), static_cast<long>(ns % kTellEveryNs)};
  nanosleep(&t, nullptr);
}

class Generator {
 public:
  Generator(const GenerateSettings& settings, const FrameEnds& ends)
      : socket_(std::make_unique<TransmitSocket>(settings.interface)),
        writer_(ends),
        source_(with_headers(settings.source, ends), monotonic_ns()),
        session_(std::random_device{}()) {}

  FlowSource& source() { return source_; }

  // Sends what is due by now, one batch of it. False where nothing is.
  bool send(uint64_t now_ns) {
    size_t count = 0;
    for (; count < TransmitSocket::kBatch; ++count) {
      const auto packet = source_.take(now_ns);
      if (!packet) break;
      if (now_ns > packet->due_ns + kLateNs) ++late_;
      const Mark mark{session_, packet->flow, packet->number, packet->last, sequence_++, now_ns};
      writer_.write(socket_->buffer(count), *packet, mark);
      socket_->set_length(count, packet->frame_bytes);
    }
    if (count == 0) return false;
    const auto [frames, bytes, error] = socket_->send(count);
    sent_ += frames;
    bytes_ += bytes;
    errors_ += count - frames;
    if (error == ENOBUFS) detail_ = "the link is full: the queue in front of it takes no more frames";
    if (error != 0 && error != ENOBUFS) detail_ = std::string("the interface takes no frames: ") + std::strerror(error);
    return true;
  }

  void report(const Report& to, uint64_t interval_ns) {
    const SourceCounts& flows = source_.counts();
    const double bits = 8.0 * static_cast<double>(bytes_ - bytes_before_);
    to({{"sent", sent_},
        {"bytes", bytes_},
        {"late", late_},
        {"flows_started", flows.started},
        {"flows_ended", flows.ended},
        {"flows", source_.in_progress()},
        {"flows_refused", flows.refused},
        {"errors", errors_},
        {"bits_per_second", interval_ns > 0 ? bits * 1e9 / static_cast<double>(interval_ns) : 0}},
       detail_);
    bytes_before_ = bytes_;
    detail_.clear();
  }

 private:
  static SourceSettings with_headers(SourceSettings settings, const FrameEnds& ends) {
    settings.udp_header_bytes = ends.udp_header_bytes();
    settings.tcp_header_bytes = ends.tcp_header_bytes();
    return settings;
  }

  std::unique_ptr<TransmitSocket> socket_;
  FrameWriter writer_;
  FlowSource source_;
  uint32_t session_;
  uint64_t sequence_ = 0;
  uint64_t sent_ = 0;
  uint64_t bytes_ = 0;
  uint64_t bytes_before_ = 0;
  uint64_t late_ = 0;
  uint64_t errors_ = 0;
  std::string detail_;
};

}  // namespace

void generate(const GenerateSettings& settings, const std::atomic<bool>& stop, const Report& report) {
  // Otherwise the kernel may wake the thread 50 us late.
  prctl(PR_SET_TIMERSLACK, 1);
  Generator generator(settings, frame_ends(settings.interface, settings.address, settings.gateway_mac, settings.port));
  uint64_t reported_ns = monotonic_ns();
  const uint64_t end_ns =
      settings.duration_s > 0 ? reported_ns + static_cast<uint64_t>(settings.duration_s * 1e9) : UINT64_MAX;
  while (!generator.source().finished()) {
    const uint64_t now_ns = monotonic_ns();
    if (stop) {
      generator.source().finish(now_ns);
    } else if (now_ns >= end_ns) {
      generator.source().finish(now_ns, kEndMaxNs);
    }
    const bool was_busy = generator.send(now_ns);
    if (now_ns - reported_ns >= kTellEveryNs) {
      generator.report(report, now_ns - reported_ns);
      reported_ns = now_ns;
    }
    if (was_busy) continue;
    const uint64_t next_ns = std::max(generator.source().next_ns(), now_ns) - now_ns;
    sleep_ns(std::clamp(next_ns, kSleepMinNs, kSleepMaxNs));
  }
  generator.report(report, monotonic_ns() - reported_ns);
}

}  // namespace orrery::flows
