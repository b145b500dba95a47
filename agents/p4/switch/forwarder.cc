// SPDX-License-Identifier: Apache-2.0
#include "p4/switch/forwarder.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "support/clock.h"

namespace orrery::p4 {
namespace {

// Data of epoll for what is no port.
constexpr uint32_t kLinks = kPortNumbers;
constexpr uint32_t kCalls = kPortNumbers + 1;
constexpr uint32_t kWake = kPortNumbers + 2;
constexpr size_t kEvents = 64;

int checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

void watch(int epoll, int fd, uint32_t data) {
  epoll_event event{.events = EPOLLIN, .data = {.u32 = data}};
  checked(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll");
}

}  // namespace

class Forwarder::Leaving : public Sink {
 public:
  Leaving(Forwarder& forwarder, uint64_t now_ns) : forwarder_(forwarder), now_ns_(now_ns) {}

  bool send(const FrameOut& frame) override {
    if (frame.port == forwarder_.options_.cpu_port) {
      forwarder_.device_->packet_in(*forwarder_.running_, frame);
      return true;
    }
    Port* port = forwarder_.ports_.find(frame.port);
    if (port == nullptr) return false;
    forwarder_.ports_.send(*port, frame.head, frame.payload);
    return true;
  }

  void digest(DigestSample&& sample) override {
    forwarder_.device_->digest(*forwarder_.running_, std::move(sample), now_ns_);
  }

 private:
  Forwarder& forwarder_;
  uint64_t now_ns_;
};

Forwarder::Forwarder(const ForwarderOptions& options)
    : options_(options),
      epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")),
      wake_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      ports_(epoll_) {
  watch(epoll_, links_.fd(), kLinks);
  watch(epoll_, calls_.fd(), kCalls);
  watch(epoll_, wake_, kWake);
}

Forwarder::~Forwarder() {
  close(wake_);
  close(epoll_);
}

void Forwarder::run() {
  try {
    refresh_ports();
    while (!stopped_) wait();
  } catch (...) {
    calls_.close();
    throw;
  }
  calls_.close();
}

void Forwarder::stop() {
  stopped_ = true;
  eventfd_write(wake_, 1);
}

void Forwarder::run(std::shared_ptr<const service::Running> running) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(running);
  }
  eventfd_write(wake_, 1);
}

bool Forwarder::packet_out(std::vector<uint8_t>&& frame) {
  {
    const std::lock_guard lock(mutex_);
    if (packets_out_.size() >= kMostOutFrames || packets_out_bytes_ + frame.size() > kMostOutBytes) return false;
    packets_out_bytes_ += frame.size();
    packets_out_.push_back(std::move(frame));
  }
  eventfd_write(wake_, 1);
  return true;
}

void Forwarder::set_ports(const std::vector<PortConfig>& configs) {
  calls_.call([&] {
    ports_.set(configs);
    refresh_ports();
  });
}

std::vector<PortReport> Forwarder::ports() {
  std::vector<PortReport> out;
  calls_.call([&] { out = ports_.report(); });
  return out;
}

// Until something has come; serves it. Each port that has frames gets one batch, in turn: epoll rotates them.
void Forwarder::wait() {
  std::array<epoll_event, kEvents> events;
  const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
  bool links = false;
  bool calls = false;
  for (int i = 0; i < n; ++i) {
    const auto [flags, data] = events[static_cast<size_t>(i)];
    switch (data.u32) {
      case kLinks:
        links = links_.clear();
        break;
      case kCalls:
        calls = true;
        break;
      case kWake: {
        eventfd_t count = 0;
        eventfd_read(wake_, &count);
        take_pipeline();
        take_packets_out();
        break;
      }
      default:
        take_ready(data.u32, flags);
    }
  }
  // Both may close ports of which there are events.
  if (links) refresh_ports();
  if (calls) calls_.serve();
}

void Forwarder::take_ready(uint32_t number, uint32_t events) {
  Port* port = ports_.find(number);
  if (port == nullptr || !port->socket) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) port->socket->clear_error();
  pass(number, port->socket->receive(buffers_, port->counters));
}

void Forwarder::pass(uint32_t port, std::span<const std::span<const uint8_t>> frames) {
  if (frames.empty()) return;
  if (!running_) {
    unrouted_ += frames.size();
    return;
  }
  {
    const uint64_t now_ns = monotonic_ns();
    Leaving leaving(*this, now_ns);
    auto batch = running_->pipeline->batch();
    for (const std::span<const uint8_t> frame : frames) {
      const FrameIn in{port, frame, now_ns};
      if (!traces_.take(port)) {
        batch.run(in, leaving);
        continue;
      }
      PacketTrace trace;
      batch.run(in, leaving, &trace);
      traces_.add(port, frame.size(), now_ns, std::move(trace));
    }
  }
  ports_.flush();
}

void Forwarder::take_pipeline() {
  const std::lock_guard lock(mutex_);
  if (next_) running_ = std::move(next_);
  next_.reset();
}

void Forwarder::take_packets_out() {
  std::vector<std::vector<uint8_t>> frames;
  {
    const std::lock_guard lock(mutex_);
    while (!packets_out_.empty() && frames.size() < kBatch) {
      packets_out_bytes_ -= packets_out_.front().size();
      frames.push_back(std::move(packets_out_.front()));
      packets_out_.pop_front();
    }
    // The ports get their turn in between.
    if (!packets_out_.empty()) eventfd_write(wake_, 1);
  }
  const std::vector<std::span<const uint8_t>> views(frames.begin(), frames.end());
  pass(options_.cpu_port, views);
}

void Forwarder::refresh_ports() {
  ports_.refresh();
  auto up = ports_.up();
  if (up == told_up_) return;
  told_up_ = up;
  device_->set_ports_up(std::move(up));
}

}  // namespace orrery::p4
