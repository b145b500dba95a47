// SPDX-License-Identifier: Apache-2.0
// How the proxy's thread brings requests to the store and their answers back.
#include <algorithm>
#include <utility>

#include "support/state/proxy_loop.h"
#include "support/state/resp_command.h"
#include "support/state/slots.h"

namespace orrery::state {
namespace {

constexpr uint64_t kRetryNs = 10'000'000;  // to a store that was not ready to execute a request
constexpr size_t kPartOverheadBytes = 16;  // of a command's part on the wire

// What the store says instead of executing a command. A function's own error has the function's name behind it, and
// comes when some of it may have been done.
bool is_not_executed(std::string_view error) {
  constexpr std::string_view kWords[] = {"CLUSTERDOWN ", "TRYAGAIN ", "LOADING ", "MASTERDOWN "};
  const auto begins = [&](std::string_view word) { return error.starts_with(word); };
  return std::ranges::any_of(kWords, begins) && error.find(" script: ") == std::string_view::npos;
}

void write_get(Request& request, Bytes key) {
  CommandWriter writer(request.command, 2);
  writer.part("GET");
  writer.part(key);
  request.key_bytes = static_cast<uint16_t>(key.size());
  request.key_begin = static_cast<uint16_t>(request.command.size() - 2 - key.size());
}

void write_call(Request& request, const RequestView& from) {
  CommandWriter writer(request.command, size_t{3} + from.header.keys + from.header.arguments);
  writer.part("FCALL");
  writer.part(from.function);
  writer.part(size_t{from.header.keys});
  for (const Bytes key : std::span(from.keys).first(from.header.keys)) writer.part(key);
  for (const Bytes argument : std::span(from.arguments).first(from.header.arguments)) writer.part(argument);
}

}  // namespace

// False when it must wait in its ring.
bool ProxyLoop::take_in(Channel& channel, Bytes record) {
  read_request(record, request_);
  RequestHeader& header = request_.header;
  header.made_ns = std::min(header.made_ns, now_ns_);
  if (now_ns_ >= header.made_ns + deadline_ns_) {
    end_unsent(channel, Outcome::kTimedOut);
    return true;
  }
  if (waiting_.size() >= max_waiting_) return false;
  const uint16_t slot = header.keys == 0 ? 0 : slot_of(as_text(request_.keys[0]));
  Connection* const connection = header.keys == 0 ? cluster_.any() : cluster_.of_slot(slot);
  if (connection == nullptr || !connection->ready()) {
    end_unsent(channel, Outcome::kAway);
    return true;
  }
  const size_t parts = size_t{3} + header.keys + header.arguments;
  if (!connection->has_room(record.size() + parts * kPartOverheadBytes)) {
    // One master that hangs must not hold up the requests to the others.
    if (!connection->stuck(now_ns_, deadline_ns_)) return false;
    end_unsent(channel, Outcome::kAway);
    return true;
  }
  attempt(add_request(channel, slot), *connection);
  return true;
}

Ticket ProxyLoop::add_request(Channel& channel, uint16_t slot) {
  const RequestHeader& header = request_.header;
  const Ticket ticket = pool_.add(header.made_ns + deadline_ns_);
  Request& request = pool_[ticket];
  request.kind = header.kind;
  request.slot = slot;
  request.keyless = header.keys == 0;
  request.token = header.token;
  request.made_ns = header.made_ns;
  request.channel = &channel;
  if (header.kind == RequestKind::kFetch) {
    write_get(request, request_.keys[0]);
  } else {
    write_call(request, request_);
  }
  return ticket;
}

void ProxyLoop::attempt(Ticket ticket, Connection& connection) {
  Request& request = pool_[ticket];
  request.state = RequestState::kSent;
  request.redirected = false;
  if (std::exchange(request.asking, false)) {
    connection.send_asking(ticket, request.command, now_ns_);
  } else {
    connection.send(ticket, request.command, now_ns_);
  }
}

void ProxyLoop::wait(Ticket ticket, uint64_t retry_ns) {
  Request& request = pool_[ticket];
  request.state = RequestState::kWaiting;
  request.retry_ns = retry_ns;
  waiting_.push_back(ticket);
}

Connection* ProxyLoop::connection_of(const Request& request) {
  if (request.redirected) return cluster_.of_index(request.redirected_to);
  return request.keyless ? cluster_.any() : cluster_.of_slot(request.slot);
}

void ProxyLoop::attempt_waiting() {
  if (waiting_.empty()) return;
  for (const Ticket ticket : std::exchange(waiting_, {})) {
    const Request& request = pool_[ticket];
    Connection* const connection = now_ns_ < request.retry_ns ? nullptr : connection_of(request);
    if (connection != nullptr && connection->ready() && connection->has_room(request.command.size())) {
      attempt(ticket, *connection);
    } else {
      waiting_.push_back(ticket);
    }
  }
}

void ProxyLoop::answered(Connection& connection, Ticket ticket, const RespValue& answer) {
  if (ticket == Cluster::kSlotsTicket) return cluster_.slots_answered(connection, answer);
  if (pool_[ticket].state == RequestState::kAnswered) {
    counts_.late_replies.add();
    pool_.remove(ticket);
    return;
  }
  if (answer.type() == RespType::kError &&
      (redirect(ticket, connection, answer.text()) || try_again(ticket, answer.text())))
    return;
  deliver(ticket, connection, answer);
}

// Whether it goes elsewhere: each kind of redirection is followed once.
bool ProxyLoop::redirect(Ticket ticket, Connection& connection, std::string_view error) {
  if (!is_cluster_) return false;
  const auto redirection = read_redirection(error, connection.endpoint());
  if (!redirection) return false;
  Request& request = pool_[ticket];
  bool& followed = redirection->ask ? request.asked : request.moved;
  Connection* const to = followed ? nullptr : cluster_.redirected(*redirection);
  if (to == nullptr) return false;
  followed = true;
  request.asking = redirection->ask;
  request.redirected = true;
  request.redirected_to = to->index();
  counts_.redirections.add();
  wait(ticket, now_ns_);
  return true;
}

bool ProxyLoop::try_again(Ticket ticket, std::string_view error) {
  if (!is_not_executed(error)) return false;
  cluster_.want_slots();
  Request& request = pool_[ticket];
  request.moved = request.asked = false;
  counts_.retries.add();
  wait(ticket, now_ns_ + kRetryNs);
  return true;
}

void ProxyLoop::deliver(Ticket ticket, Connection& connection, const RespValue& answer) {
  const Request& request = pool_[ticket];
  if (answer.type() == RespType::kError)
    return finish(ticket, Outcome::kRefused, as_bytes(answer.text().substr(0, kMaxRefusalBytes)));
  if (request.kind == RequestKind::kFetch) counts_.fetch_latency.add(now_ns_ - request.made_ns);
  if (answer.type() == RespType::kNull) return finish(ticket, Outcome::kAbsent);
  const Bytes value = answer.aggregate()                    ? answer.encoded()
                      : answer.type() == RespType::kBoolean ? as_bytes(answer.integer() != 0 ? "1" : "0")
                                                            : answer.bytes();
  if (value.size() > kMaxValueBytes)
    return finish(ticket, Outcome::kRefused,
                  as_bytes("the store's value has " + std::to_string(value.size()) + " bytes, of at most 4096"));
  finish(ticket, Outcome::kValue, value, connection.index(), answer.aggregate());
}

void ProxyLoop::unanswered(Connection&, Ticket ticket) {
  if (ticket == Cluster::kSlotsTicket) return cluster_.slots_unanswered();
  if (pool_[ticket].state == RequestState::kAnswered) {
    pool_.remove(ticket);
  } else {
    finish(ticket, Outcome::kAway);
  }
}

void ProxyLoop::expire() {
  pool_.expire(now_ns_, [&](Ticket ticket) {
    Request& request = pool_[ticket];
    if (request.state == RequestState::kWaiting) return finish(ticket, Outcome::kTimedOut);
    count_end(request.kind, Outcome::kTimedOut);
    if (request.channel != nullptr && request.kind != RequestKind::kPost)
      request.channel->reply(request.token, Outcome::kTimedOut, {}, {}, 0, false);
    request.state = RequestState::kAnswered;
  });
  std::erase_if(waiting_, [&](Ticket ticket) { return pool_[ticket].state != RequestState::kWaiting; });
}

void ProxyLoop::finish(Ticket ticket, Outcome outcome, Bytes value, uint8_t connection, bool encoded) {
  const Request& request = pool_[ticket];
  count_end(request.kind, outcome);
  if (request.channel != nullptr && request.kind != RequestKind::kPost) {
    const bool of_key = request.kind == RequestKind::kFetch && outcome <= Outcome::kAbsent && !encoded;
    const Bytes key = of_key ? request.key() : Bytes();
    if (!request.channel->reply(request.token, outcome, key, value, connection, encoded))
      counts_.replies_without_room.add();
  }
  pool_.remove(ticket);
}

// Of the request that was read last, which went to no connection.
void ProxyLoop::end_unsent(Channel& channel, Outcome outcome) {
  count_end(request_.header.kind, outcome);
  if (request_.header.kind != RequestKind::kPost) channel.reply(request_.header.token, outcome, {}, {}, 0, false);
}

void ProxyLoop::count_end(RequestKind kind, Outcome outcome) {
  const auto index = static_cast<size_t>(outcome);
  if (kind != RequestKind::kPost) {
    counts_.replies[index].add();
  } else if (outcome > Outcome::kAbsent) {
    counts_.posts_failed[index].add();
  }
}

}  // namespace orrery::state
