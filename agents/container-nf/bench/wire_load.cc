// SPDX-License-Identifier: Apache-2.0
// Loads whatever passes frames between two interfaces, and measures what it takes.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "container-nf/packet_port.h"
#include "nfs/testing/tcp_frames.h"
#include "support/clock.h"
#include "support/hop_tag.h"

namespace orrery::container_nf {
namespace {

constexpr const char* kUsage =
    "usage: orrery-wire-load --near IFACE --far IFACE [options]\n"
    "\n"
    "Sends TCP segments with hop tags to IFACE near and takes them back from IFACE far, polling; prints one JSON "
    "object.\n"
    "\n"
    "  --hop N        hop of the tags (default 65535)\n"
    "  --window N     frames under way at a time, at most 1024 (default 1)\n"
    "  --bytes N      a frame, 60 to 1514 (default 60)\n"
    "  --flows N      connections that take turns (default 1024)\n"
    "  --seconds N    of measurement, after a tenth of that to warm up (default 1)\n";

// Frames of which nothing has come back for so long are lost.
constexpr uint64_t kPatienceNs = 200'000'000;

struct Options {
  std::string near;
  std::string far;
  uint64_t hop = 65535;
  uint64_t window = 1;
  uint64_t bytes = 60;
  uint64_t flows = 1024;
  uint64_t seconds = 1;
};

uint64_t number(std::string_view name, std::string_view text, uint64_t lo, uint64_t hi) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < lo || value > hi)
    throw std::invalid_argument(std::string(name) + " must be from " + std::to_string(lo) + " to " +
                                std::to_string(hi));
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument("an option without its value: " + std::string(name));
    const char* value = argv[i + 1];
    if (name == "--near") {
      options.near = value;
    } else if (name == "--far") {
      options.far = value;
    } else if (name == "--hop") {
      options.hop = number(name, value, 1, 65535);
    } else if (name == "--window") {
      options.window = number(name, value, 1, 1024);
    } else if (name == "--bytes") {
      options.bytes = number(name, value, 60, 1514);
    } else if (name == "--flows") {
      options.flows = number(name, value, 1, 60000);
    } else if (name == "--seconds") {
      options.seconds = number(name, value, 1, 3600);
    } else {
      throw std::invalid_argument("unknown option " + std::string(name));
    }
  }
  if (options.near.empty() || options.far.empty()) throw std::invalid_argument("--near and --far are required");
  return options;
}

std::vector<std::vector<uint8_t>> make_frames(const Options& options) {
  constexpr size_t kHeaders = 14 + 20 + 20;
  std::vector<std::vector<uint8_t>> frames;
  frames.reserve(options.flows);
  for (uint64_t flow = 0; flow < options.flows; ++flow)
    frames.push_back(testing::tcp_frame({.src = static_cast<uint32_t>(0x0a000000 + flow),
                                         .src_port = static_cast<uint16_t>(1024 + flow),
                                         .payload = std::string(options.bytes - kHeaders, 'x')},
                                        kTcpSyn));
  return frames;
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options), near_(options.near), far_(options.far), frames_(make_frames(options)) {}

  nlohmann::json run() {
    const uint64_t began_ns = monotonic_ns(), measured_ns = options_.seconds * 1'000'000'000u;
    const uint64_t from_ns = began_ns + measured_ns / 10, to_ns = from_ns + measured_ns;
    uint64_t heard_ns = began_ns;
    for (uint64_t now_ns = began_ns; now_ns < to_ns; now_ns = monotonic_ns()) {
      send(now_ns);
      if (receive(now_ns >= from_ns) > 0) heard_ns = now_ns;
      if (now_ns - heard_ns > kPatienceNs) {
        lost_ += under_way_;
        under_way_ = 0;
        heard_ns = now_ns;
      }
    }
    return {{"packets_per_s", static_cast<double>(received_) / static_cast<double>(options_.seconds)},
            {"sent", sent_},
            {"lost", lost_},
            {"p50_us", percentile_us(50)},
            {"p99_us", percentile_us(99)}};
  }

 private:
  void send(uint64_t now_ns) {
    Frame batch[kBatch];
    size_t n = 0;
    for (; n < kBatch && under_way_ + n < options_.window; ++n) {
      std::vector<uint8_t>& frame = frames_[next_++ % frames_.size()];
      write_hop_tag(frame.data(), {static_cast<uint16_t>(options_.hop), 0}, now_ns);
      batch[n] = {frame.data(), static_cast<uint32_t>(frame.size())};
    }
    const uint64_t sent = n == 0 ? 0 : near_.send({batch, n}).packets;
    sent_ += sent;
    under_way_ += sent;
  }

  size_t receive(bool measured) {
    const auto frames = far_.receive();
    const uint64_t now_ns = monotonic_ns();
    size_t n = 0;
    for (const Frame& frame : frames) {
      HopTag tag{};
      if (frame.length < kEthernetHeader || !read_hop_tag(frame.data, tag)) continue;
      ++n;
      if (measured) latencies_ns_.push_back(static_cast<uint32_t>(now_ns - read_ingress_ns(frame.data, now_ns)));
    }
    far_.release();
    under_way_ -= std::min<uint64_t>(under_way_, n);
    if (measured) received_ += n;
    return n;
  }

  double percentile_us(size_t percent) {
    if (latencies_ns_.empty()) return 0;
    const auto at = latencies_ns_.begin() + static_cast<ptrdiff_t>((latencies_ns_.size() - 1) * percent / 100);
    std::nth_element(latencies_ns_.begin(), at, latencies_ns_.end());
    return *at / 1e3;
  }

  Options options_;
  PacketPort near_;
  PacketPort far_;
  std::vector<std::vector<uint8_t>> frames_;
  std::vector<uint32_t> latencies_ns_;
  uint64_t next_ = 0;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  uint64_t lost_ = 0;
  uint64_t under_way_ = 0;
};

}  // namespace
}  // namespace orrery::container_nf

int main(int argc, char** argv) {
  try {
    const orrery::container_nf::Options options = orrery::container_nf::parse(argc, argv);
    std::printf("%s\n", orrery::container_nf::Load(options).run().dump().c_str());
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "orrery-wire-load: %s\n%s", error.what(), orrery::container_nf::kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery-wire-load: %s\n", error.what());
    return 1;
  }
}
