// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/state/resp_parser.h"
#include "support/state/store_address.h"

namespace orrery::state {

class Connection;

// What whoever sends a command calls it by.
using Ticket = uint32_t;

// What a connection tells. Nothing of it may close or destroy a connection.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;

  virtual void connection_ready(Connection& connection) = 0;
  // All that the store had told before the time `until_ns` less the stale bound was told here before this.
  virtual void connection_alive(Connection& connection, uint64_t until_ns) = 0;
  // Of one that was ready: what it has read is no longer followed.
  virtual void connection_lost(Connection& connection) = 0;
  // keys: an array of keys, or null for all.
  virtual void invalidated(Connection& connection, const RespValue& keys) = 0;
  // Each ticket that was sent is told once, by one of these.
  virtual void answered(Connection& connection, Ticket ticket, const RespValue& answer) = 0;
  virtual void unanswered(Connection& connection, Ticket ticket) = 0;
};

struct ConnectionOptions {
  std::string client_name;  // as CLIENT LIST shows it
  std::string user{};       // empty: the default user
  std::string password{};   // empty: none is given
  bool cluster = false;
  uint64_t stale_bound_ns = 500'000'000;
  uint64_t silence_limit_ns = 1'000'000'000;  // of a store that answers no probe
  uint64_t connect_limit_ns = 1'000'000'000;  // until it is ready
  size_t max_in_flight = 4096;
  size_t max_in_flight_bytes = size_t{4} << 20;
};

// A connection to one Redis server, established again whenever it is lost: RESP3 with client-side caching, probed at
// regular times. The probe is PING, of a cluster CLUSTER INFO, because a master that was cut off from the majority
// answers PING while another takes its place.
//
// For one thread. It never waits: on_event() when the file descriptor is ready, tick() at next_event_ns().
class Connection {
 public:
  // Registers in the epoll set with `index` as the user's data. The first attempt is made by the first tick().
  Connection(ConnectionOwner& owner, const ConnectionOptions& options, Endpoint endpoint, uint8_t index, int epoll);
  // Tells the owner nothing.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  uint8_t index() const { return index_; }
  bool ready() const { return state_ == State::kReady; }
  // Whether the last probe said that the cluster works; always so of a single store.
  bool sound() const { return sound_; }
  // Why it is not ready, or empty.
  const std::string& reason() const { return reason_; }
  uint64_t established() const { return established_; }

  bool has_room(size_t command_bytes) const;
  // Whether the oldest command has waited for its answer for so long.
  bool stuck(uint64_t now_ns, uint64_t limit_ns) const;

  // Precondition: ready(). The bytes leave with the next flush().
  void send(Ticket ticket, std::string_view command, uint64_t now_ns);
  // Behind ASKING, which lets the command into a slot that is being moved here.
  void send_asking(Ticket ticket, std::string_view command, uint64_t now_ns);

  void on_event(uint32_t events, uint64_t now_ns);
  void flush(uint64_t now_ns);
  void tick(uint64_t now_ns);
  uint64_t next_event_ns() const;

  // Closes it; the next attempt follows after a while.
  void close(std::string reason, uint64_t now_ns);

 private:
  enum class State : uint8_t { kWaiting, kConnecting, kGreeting, kReady };
  enum class Kind : uint8_t { kHello, kTracking, kVersion, kProbe, kAsking, kCommand };
  struct Expected {
    Kind kind;
    Ticket ticket;
    uint32_t bytes;
    uint64_t sent_ns;
  };

  void open(uint64_t now_ns);
  void finish_connecting(uint64_t now_ns);
  void greet(uint64_t now_ns);
  void probe(uint64_t now_ns);
  void expect(Kind kind, uint64_t now_ns, Ticket ticket = 0, size_t bytes = 0);
  void watch(uint32_t events);
  void receive(uint64_t now_ns);
  void make_room();
  void digest(uint64_t now_ns);
  void handle(const RespValue& value, uint64_t now_ns);
  void handle_push(const RespValue& push);
  void handle_greeting(const Expected& expected, const RespValue& answer, uint64_t now_ns);
  void handle_probe(const Expected& expected, const RespValue& answer, uint64_t now_ns);

  ConnectionOwner& owner_;
  const ConnectionOptions& options_;
  const Endpoint endpoint_;
  const uint8_t index_;
  const int epoll_;
  int fd_ = -1;
  State state_ = State::kWaiting;
  bool sound_ = true;
  bool blocked_ = false;  // the kernel takes no more for now
  uint32_t watched_ = 0;
  std::string reason_ = "not connected yet";
  uint64_t established_ = 0;
  uint64_t opened_ns_ = 0;
  uint64_t retry_ns_ = 0;
  uint64_t back_off_ns_;
  uint64_t next_probe_ns_ = 0;
  std::minstd_rand jitter_;

  std::string out_;
  size_t out_begin_ = 0;
  std::vector<uint8_t> in_;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  RespParser parser_;
  std::deque<Expected> expected_;
  std::deque<uint64_t> probes_sent_ns_;  // that were not answered
  size_t in_flight_ = 0;
  size_t in_flight_bytes_ = 0;
};

}  // namespace orrery::state
