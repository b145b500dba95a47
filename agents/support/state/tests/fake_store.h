// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/state/store_address.h"

namespace orrery::state::testing {

// A listening socket on a free port of the loopback interface.
class LoopbackListener {
 public:
  LoopbackListener();
  ~LoopbackListener();
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  int fd() const { return fd_; }
  Endpoint endpoint() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  int fd_;
  uint16_t port_ = 0;
};

// A store that says what a test has it say. It greets, answers probes, and hands all else to `answer`. Behind a command
// that it does not answer it says nothing before answer_owed(), as answers come in order.
class FakeStore {
 public:
  using Command = std::vector<std::string>;
  // What goes on the wire; empty: nothing. Called on the store's thread.
  using Answer = std::function<std::string(const Command& command)>;

  explicit FakeStore(Answer answer);
  ~FakeStore();
  FakeStore(const FakeStore&) = delete;
  FakeStore& operator=(const FakeStore&) = delete;

  Endpoint endpoint() const { return listener_.endpoint(); }
  std::string address() const { return "redis://" + endpoint().text(); }

  // Whether it answers probes.
  void answer_probes(bool answers) { answers_probes_ = answers; }
  // What it answers to FCALL_RO state_version.
  void set_version(std::string on_wire);
  // To all that are connected, at once.
  void send_all(std::string_view on_wire);
  // To all that are connected, as the answers that it owes them, in order.
  void answer_owed(const std::vector<std::string>& on_wire);
  void close_all();
  // Connections that were accepted so far.
  uint32_t accepted() const { return accepted_; }
  // Commands that were handed to `answer` so far.
  uint32_t asked() const { return asked_; }

 private:
  struct Peer {
    int fd;
    std::string in{};
    std::deque<std::optional<std::string>> held{};  // from the first answer on that it owes, which are nothing
  };

  void run();
  void read_from(Peer& peer);
  void answer_to(Peer& peer, const Command& command);
  std::string own_answer(const Command& command);

  const Answer answer_;
  LoopbackListener listener_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> answers_probes_{true};
  std::atomic<uint32_t> accepted_{0};
  std::atomic<uint32_t> asked_{0};
  std::mutex mutex_;
  std::string version_ = ":1\r\n";
  std::vector<Peer> peers_;
  std::thread thread_;
};

// Between a proxy and its store: what the store says can be held back.
class Relay {
 public:
  explicit Relay(Endpoint store);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::string address() const { return "redis://" + listener_.endpoint().text(); }

  void hold(bool holds) { holds_ = holds; }

 private:
  struct Pair {
    int near;
    int far;
  };

  void run();
  void accept_one();

  const Endpoint store_;
  LoopbackListener listener_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> holds_{false};
  std::vector<Pair> pairs_;
  std::thread thread_;
};

// On the wire.
std::string bulk(std::string_view text);

}  // namespace orrery::state::testing
