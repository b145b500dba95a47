// SPDX-License-Identifier: Apache-2.0
#include "linkd/link_table.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>
#include <system_error>

namespace orrery::linkd {
namespace {

constexpr int kEventsMax = 64;

void watch(int epoll, int fd, Direction* direction) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = direction;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

}  // namespace

struct LinkTable::Link {
  LinkConfig config;
  std::string failure;
  // Closing a socket removes it from the epoll instance.
  std::unique_ptr<FrameSocket> a, b;
  std::unique_ptr<Direction> a_to_b, b_to_a;
};

LinkTable::LinkTable() : epoll_(epoll_create1(EPOLL_CLOEXEC)), seed_(std::random_device{}()) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

LinkTable::~LinkTable() {
  close(epoll_);
}

void LinkTable::open(Link& link) {
  link.a_to_b.reset();
  link.b_to_a.reset();
  link.a.reset();
  link.b.reset();
  try {
    link.a = std::make_unique<FrameSocket>(link.config.a);
    link.b = std::make_unique<FrameSocket>(link.config.b);
    link.a_to_b = std::make_unique<Direction>(*link.a, *link.b, link.config.settings, ++seed_);
    link.b_to_a = std::make_unique<Direction>(*link.b, *link.a, link.config.settings, ++seed_);
    watch(epoll_, link.a->fd(), link.a_to_b.get());
    watch(epoll_, link.b->fd(), link.b_to_a.get());
    link.failure.clear();
  } catch (const std::exception& error) {
    link.a_to_b.reset();
    link.b_to_a.reset();
    link.a.reset();
    link.b.reset();
    link.failure = error.what();
  }
}

void LinkTable::set(const std::vector<LinkConfig>& configs) {
  std::set<std::string> wanted;
  for (const LinkConfig& config : configs) wanted.insert(config.id);
  std::erase_if(links_, [&](const auto& each) { return !wanted.contains(each.first); });
  for (const LinkConfig& config : configs) {
    std::unique_ptr<Link>& link = links_[config.id];
    const bool stays = link && link->failure.empty() && link->config.a == config.a && link->config.b == config.b &&
                       link->a->present() && link->b->present();
    if (!link) link = std::make_unique<Link>();
    link->config = config;
    if (stays) {
      link->a_to_b->change(config.settings);
      link->b_to_a->change(config.settings);
    } else {
      open(*link);
    }
  }
}

std::vector<LinkReport> LinkTable::report() {
  std::vector<LinkReport> reports;
  for (const auto& [id, link] : links_) {
    if (link->failure.empty() && !(link->a->present() && link->b->present())) link->failure = "an interface is gone";
    const bool open = link->a_to_b != nullptr;
    reports.push_back({id, link->failure, open ? link->a_to_b->counters() : Counters{},
                       open ? link->b_to_a->counters() : Counters{}});
  }
  return reports;
}

void LinkTable::work(uint64_t now_ns) {
  epoll_event events[kEventsMax];
  const int count = epoll_wait(epoll_, events, kEventsMax, 0);
  for (int i = 0; i < count; ++i) static_cast<Direction*>(events[i].data.ptr)->take_in();
  for (const auto& [id, link] : links_)
    for (Direction* direction : {link->a_to_b.get(), link->b_to_a.get()})
      if (direction != nullptr) direction->send_due(now_ns);
}

std::optional<uint64_t> LinkTable::next_ns() const {
  std::optional<uint64_t> next;
  for (const auto& [id, link] : links_)
    for (const Direction* direction : {link->a_to_b.get(), link->b_to_a.get()})
      if (direction != nullptr)
        if (const auto due = direction->next_ns()) next = std::min(next.value_or(*due), *due);
  return next;
}

}  // namespace orrery::linkd
