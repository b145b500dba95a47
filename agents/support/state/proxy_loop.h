// SPDX-License-Identifier: Apache-2.0
// The work of the proxy's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "support/state/channel.h"
#include "support/state/cluster.h"
#include "support/state/connection.h"
#include "support/state/proxy.h"
#include "support/state/request_pool.h"

namespace orrery::state {

// What the proxy's thread counts and any thread reads.
struct LoopCounts {
  std::array<Count, kOutcomes> replies;
  std::array<Count, kOutcomes> posts_failed;
  Count late_replies, replies_without_room, invalidations_lost, redirections, retries;
  Count in_flight, connections, reconnects;
  std::atomic<bool> connected{false};
  SharedHistogram fetch_latency;
};

class ProxyLoop final : public ConnectionOwner {
 public:
  ProxyLoop(const ProxyOptions& options, std::shared_ptr<ProxyShared> shared);
  ~ProxyLoop() override;
  ProxyLoop(const ProxyLoop&) = delete;
  ProxyLoop& operator=(const ProxyLoop&) = delete;

  // Until stop(), on the thread that calls it.
  void run();

  // From any thread.
  void stop();
  void add(std::shared_ptr<Channel> channel);
  Figures figures() const;

  void connection_ready(Connection& connection) override;
  void connection_alive(Connection& connection, uint64_t until_ns) override;
  void connection_lost(Connection& connection) override;
  void invalidated(Connection& connection, const RespValue& keys) override;
  void answered(Connection& connection, Ticket ticket, const RespValue& answer) override;
  void unanswered(Connection& connection, Ticket ticket) override;

 private:
  void update_channels();
  void remove_detached();
  void serve_once();
  void wait_for_events();
  int wait_ms(uint64_t now_ns) const;
  bool has_work() const;
  void drop_outdated();
  void drop_what_was_read(uint8_t connection);

  void pull(Channel& channel);
  bool take_in(Channel& channel, Bytes record);
  Connection* connection_of(const Request& request);
  Ticket add_request(Channel& channel, uint16_t slot);

  void attempt(Ticket ticket, Connection& connection);
  void attempt_waiting();
  void wait(Ticket ticket, uint64_t retry_ns);
  bool redirect(Ticket ticket, Connection& connection, std::string_view error);
  bool try_again(Ticket ticket, std::string_view error);
  void deliver(Ticket ticket, Connection& connection, const RespValue& answer);
  void expire();
  void finish(Ticket ticket, Outcome outcome, Bytes value = {}, uint8_t connection = 0, bool encoded = false);
  void end_unsent(Channel& channel, Outcome outcome);
  void count_end(RequestKind kind, Outcome outcome);
  void give_up_all();
  void publish();

  const bool is_cluster_;
  const uint64_t deadline_ns_;
  const size_t max_waiting_;
  const std::shared_ptr<ProxyShared> shared_;
  const int epoll_;
  Cluster cluster_;
  RequestPool pool_;
  std::vector<Ticket> waiting_;
  std::vector<std::shared_ptr<Channel>> channels_;
  RequestView request_{};
  uint64_t now_ns_ = 0;
  bool changed_ = true;  // what publish() tells
  bool blocked_ = false;
  bool more_ = false;
  LoopCounts counts_;

  std::atomic<bool> stopping_{false};
  std::atomic<bool> channels_changed_{false};
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Channel>> all_channels_;  // under the mutex
  SideFigures of_gone_sides_;                           // under the mutex
  std::string reason_;                                  // under the mutex
};

}  // namespace orrery::state
