// SPDX-License-Identifier: Apache-2.0
#include "support/state/proxy.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/state/proxy_loop.h"

namespace orrery::state {
namespace {

constexpr uint32_t kMaxTimeMs = 60'000;
constexpr size_t kMaxClientName = 64;

bool is_client_name(std::string_view name) {
  const auto usual = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  return !name.empty() && name.size() <= kMaxClientName && std::ranges::all_of(name, usual);
}

void check(const ProxyOptions& options) {
  if (options.store.endpoints.empty()) throw std::invalid_argument("a proxy needs the address of its store");
  if (!is_client_name(options.name)) throw std::invalid_argument("a proxy's name has 1 to 64 of a-z, A-Z, 0-9, - . _");
  if (options.stale_bound_ms < 20 || options.stale_bound_ms > kMaxTimeMs)
    throw std::invalid_argument("the stale bound must be 20 to 60,000 ms");
  if (options.deadline_ms < 1 || options.deadline_ms > kMaxTimeMs)
    throw std::invalid_argument("the deadline must be 1 to 60,000 ms");
  if (options.silence_limit_ms < 100 || options.silence_limit_ms > kMaxTimeMs)
    throw std::invalid_argument("the limit of silence must be 100 to 60,000 ms");
  if (options.max_in_flight == 0 || options.max_in_flight_bytes < size_t{64} << 10)
    throw std::invalid_argument("a connection needs room for a request, and for 64 KiB of commands");
}

}  // namespace

class Proxy::Impl {
 public:
  explicit Impl(const ProxyOptions& options)
      : shared_(std::make_shared<ProxyShared>()), loop_(options, shared_), thread_([this] { loop_.run(); }) {}

  ~Impl() {
    loop_.stop();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::unique_ptr<PacketSide> attach(const SideOptions& options) {
    auto channel = std::make_shared<Channel>(options);
    auto side = std::make_unique<PacketSide>(channel, shared_, options);
    loop_.add(std::move(channel));
    return side;
  }

  Figures figures() const { return loop_.figures(); }

 private:
  const std::shared_ptr<ProxyShared> shared_;
  ProxyLoop loop_;
  std::thread thread_;
};

Proxy::Proxy(const ProxyOptions& options)
    : impl_([&] {
        check(options);
        return std::make_unique<Impl>(options);
      }()) {}

Proxy::~Proxy() = default;

std::unique_ptr<PacketSide> Proxy::attach(const SideOptions& options) {
  return impl_->attach(options);
}

Figures Proxy::figures() const {
  return impl_->figures();
}

}  // namespace orrery::state
