// SPDX-License-Identifier: Apache-2.0
#include "store_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "support/clock.h"
#include "support/state/resp_command.h"
#include "support/state/resp_parser.h"

namespace orrery::state::testing {
namespace {

std::string shown_answer(const RespValue& value) {
  if (value.type() == RespType::kNull) return "nil";
  if (value.type() == RespType::kError) return "-" + std::string(value.text());
  if (!value.aggregate()) return std::string(value.text());
  std::string out;
  value.for_each([&](const RespValue& element) { out += (out.empty() ? "" : " ") + shown_answer(element); });
  return out;
}

}  // namespace

StoreClient::StoreClient(const Endpoint& endpoint) {
  const SocketAddress address = socket_address_of(endpoint);
  fd_ = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{10, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (connect(fd_, address.get(), address.length) == 0) return;
  close(fd_);
  throw std::runtime_error("nobody listens at " + endpoint.text());
}

StoreClient::~StoreClient() {
  close(fd_);
}

std::string StoreClient::command(std::initializer_list<std::string_view> parts) {
  std::string out;
  append_command(out, parts);
  if (send(fd_, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size()))
    throw std::runtime_error("the command was not sent");
  for (;;) {
    RespParser parser;
    const Bytes wire = as_bytes(in_);
    const RespParser::State state = parser.parse(wire);
    if (state == RespParser::State::kFlawed) throw std::runtime_error("not RESP");
    if (state == RespParser::State::kComplete) {
      std::string answer = shown_answer(parser.value(wire));
      in_.erase(0, parser.size());
      return answer;
    }
    char buffer[65536];
    const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
    if (got <= 0) throw std::runtime_error("no answer");
    in_.append(buffer, static_cast<size_t>(got));
  }
}

bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::vector<TakenReply> take_replies(PacketSide& side, size_t count, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::vector<TakenReply> out;
  std::vector<Reply> replies(64);
  while (out.size() < count && std::chrono::steady_clock::now() < end) {
    const size_t got = side.take(std::span(replies).first(std::min(replies.size(), count - out.size())));
    for (const Reply& reply : std::span(replies).first(got))
      out.push_back({reply.token, reply.outcome, reply.encoded, std::string(as_text(reply.value))});
    if (got == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return out;
}

std::string shown_reply(Outcome outcome, std::string_view value) {
  switch (outcome) {
    case Outcome::kValue:
      return "value " + std::string(value);
    case Outcome::kAbsent:
      return "absent";
    case Outcome::kRefused:
      return "refused " + std::string(value);
    case Outcome::kTimedOut:
      return "timed out";
    default:
      return "away";
  }
}

TestClient::TestClient(const std::string& address, uint32_t stale_bound_ms, uint32_t deadline_ms,
                       uint32_t silence_limit_ms)
    : proxy_(std::make_unique<Proxy>(ProxyOptions{.store = StoreAddress::parse(address),
                                                  .name = "test",
                                                  .stale_bound_ms = stale_bound_ms,
                                                  .deadline_ms = deadline_ms,
                                                  .silence_limit_ms = silence_limit_ms})),
      side_(proxy_->attach({.cache_entries = 1000, .cache_bytes = 1 << 20})) {}

bool TestClient::connected() const {
  return eventually([&] { return proxy_->figures().connected; });
}

bool TestClient::fetch(Token token, std::string_view key) {
  return side_->fetch(token, space_.key(as_bytes(key)), monotonic_ns());
}

bool TestClient::call(Token token, std::string_view function, std::string_view key,
                      std::initializer_list<std::string_view> arguments) {
  std::vector<Bytes> bytes;
  for (const std::string_view argument : arguments) bytes.push_back(as_bytes(argument));
  const StoreKey keys[] = {space_.key(as_bytes(key))};
  return side_->call(token, function, keys, bytes, monotonic_ns());
}

bool TestClient::post(std::string_view function, std::string_view key,
                      std::initializer_list<std::string_view> arguments) {
  std::vector<Bytes> bytes;
  for (const std::string_view argument : arguments) bytes.push_back(as_bytes(argument));
  const StoreKey keys[] = {space_.key(as_bytes(key))};
  return side_->post(function, keys, bytes, monotonic_ns());
}

std::string TestClient::only_reply() {
  const auto replies = take_replies(*side_, 1);
  if (replies.empty()) return "no reply";
  return shown_reply(replies[0].outcome, replies[0].value);
}

std::string TestClient::fetched(std::string_view key) {
  return fetch(1, key) ? only_reply() : "no room";
}

std::string TestClient::called(std::string_view function, std::string_view key,
                               std::initializer_list<std::string_view> arguments) {
  return call(1, function, key, arguments) ? only_reply() : "no room";
}

std::string TestClient::look(std::string_view key) {
  Reply unexpected[1];
  EXPECT_EQ(side_->take(unexpected), 0u);
  const Lookup found = side_->find(space_.key(as_bytes(key)), monotonic_ns());
  return found.hit ? std::string(as_text(found.value)) : "miss";
}

}  // namespace orrery::state::testing
