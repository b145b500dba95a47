// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "p4/switch/port_socket.h"

namespace orrery::p4 {

constexpr uint32_t kPortNumbers = 512;

struct PortConfig {
  uint32_t number;
  std::string name;
  std::string interface;
};

enum class PortState : uint8_t { kAbsent, kDown, kUp };
const char* name_of(PortState state);

struct PortReport {
  PortConfig config;
  PortState state;
  std::string failure;  // why it is absent
  PortCounters counters;
};

// One port; its interface may be missing.
struct Port {
  explicit Port(PortConfig config) : config(std::move(config)) {}

  PortConfig config;
  std::optional<PortSocket> socket;
  PortState state = PortState::kAbsent;
  std::string failure;
  PortCounters counters;
  uint64_t overflow_before = 0;  // of sockets that were closed
  OutBatch out;
};

// All ports, for the packet thread. An epoll instance has their sockets, with the number as data.
class Ports {
 public:
  explicit Ports(int epoll) : epoll_(epoll) {}

  // Opens and closes so that these are the ports; those that keep number and interface are not touched, whatever their
  // names are. Precondition: numbers and interfaces differ.
  void set(const std::vector<PortConfig>& configs);

  // Looks for interfaces that came, went, or changed.
  void refresh();

  Port* find(uint32_t number) { return number < kPortNumbers ? by_number_[number] : nullptr; }
  std::vector<PortReport> report();
  std::set<uint32_t> up() const;

  void send(Port& port, std::span<const uint8_t> head, std::span<const uint8_t> payload);
  // What was gathered by send() leaves.
  void flush();

 private:
  void refresh(Port& port);
  void open(Port& port);
  void close(Port& port);
  static void flush(Port& port);

  int epoll_;
  std::map<uint32_t, std::unique_ptr<Port>> ports_;
  std::array<Port*, kPortNumbers> by_number_{};
  std::vector<Port*> sending_;
};

}  // namespace orrery::p4
