// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkd/direction.h"

namespace orrery::linkd {

// A link between two interfaces of this namespace; `settings` apply to each direction separately.
struct LinkConfig {
  std::string id;
  std::string a, b;
  LineSettings settings;
};

struct LinkReport {
  std::string id;
  std::string failure;  // why it carries nothing; empty while it works
  Counters a_to_b, b_to_a;
};

// The links, and the epoll instance for their sockets.
class LinkTable {
 public:
  LinkTable();
  ~LinkTable();
  LinkTable(const LinkTable&) = delete;
  LinkTable& operator=(const LinkTable&) = delete;

  // Replaces the set of links. A link whose interfaces do not change keeps its counters and the frames in transit. One
  // whose interfaces cannot be opened is listed as failed and retried on the next call.
  void set(const std::vector<LinkConfig>& configs);
  std::vector<LinkReport> report();

  int poll_fd() const { return epoll_; }
  // Reads from the sockets that are ready, and sends what is due.
  void work(uint64_t now_ns);
  // When the next frame is due.
  std::optional<uint64_t> next_ns() const;

 private:
  struct Link;

  void open(Link& link);

  int epoll_;
  uint64_t seed_;
  std::map<std::string, std::unique_ptr<Link>> links_;
};

}  // namespace orrery::linkd
