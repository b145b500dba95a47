// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/state/proxy.h"
#include "support/state/store_address.h"

namespace orrery::state::testing {

// A plain client beside the proxy, which waits for its answers.
class StoreClient {
 public:
  // Throws std::runtime_error when nobody listens there.
  explicit StoreClient(const Endpoint& endpoint);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  // The answer as text: of an error behind a -, of an array its elements with spaces between, `nil`. Throws
  // std::runtime_error when the connection ends or is silent for 10 s.
  std::string command(std::initializer_list<std::string_view> parts);

 private:
  int fd_;
  std::string in_;
};

// Waits until it holds, for at most 20 s. Whether it does.
bool eventually(const std::function<bool()>& holds);

struct TakenReply {
  Token token;
  Outcome outcome;
  bool encoded;
  std::string value;
};

// A packet thread's loop: takes replies until there are so many, for at most `limit`.
std::vector<TakenReply> take_replies(PacketSide& side, size_t count,
                                     std::chrono::milliseconds limit = std::chrono::seconds(20));

// A proxy with a packet side, of which the test is the packet thread.
class TestClient {
 public:
  // Patient by default: a machine that is busy must not look like a store that hangs.
  explicit TestClient(const std::string& address, uint32_t stale_bound_ms = 500, uint32_t deadline_ms = 20'000,
                      uint32_t silence_limit_ms = 20'000);

  Proxy& proxy() { return *proxy_; }
  PacketSide& side() { return *side_; }
  Figures figures() const { return proxy_->figures(); }
  bool connected() const;

  bool fetch(Token token, std::string_view key);
  bool call(Token token, std::string_view function, std::string_view key,
            std::initializer_list<std::string_view> arguments);
  bool post(std::string_view function, std::string_view key, std::initializer_list<std::string_view> arguments);
  // One request and its reply, as OUTCOME and value: `value x`, `absent`, `refused why`, `timed out`, `away`.
  std::string fetched(std::string_view key);
  std::string called(std::string_view function, std::string_view key,
                     std::initializer_list<std::string_view> arguments);
  // What is cached, or `miss`; takes before.
  std::string look(std::string_view key);

  const KeySpace& space() const { return space_; }
  std::string store_key(std::string_view key) const { return space_.prefix() + std::string(key); }

 private:
  std::string only_reply();

  const KeySpace space_{"chain", "test"};
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<PacketSide> side_;
};

std::string shown_reply(Outcome outcome, std::string_view value);

}  // namespace orrery::state::testing
