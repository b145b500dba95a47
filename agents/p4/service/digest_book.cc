// SPDX-License-Identifier: Apache-2.0
#include "p4/service/digest_book.h"

#include <algorithm>

namespace orrery::p4::service {
namespace {

// Equal for equal messages only.
std::string key_of(const std::vector<ByteString>& message) {
  std::string key;
  for (const ByteString& field : message) {
    const size_t first = std::min(field.find_first_not_of('\0'), field.size());
    key += std::to_string(field.size() - first) + ':';
    key.append(field, first);
  }
  return key;
}

}  // namespace

void DigestBook::configure(uint32_t digest_id, const DigestConfig& config) {
  digests_[digest_id].config = config;
}

void DigestBook::disable(uint32_t digest_id) {
  digests_.erase(digest_id);
}

void DigestBook::forget() {
  for (auto& [id, digest] : digests_) digest = {.config = digest.config};
}

void DigestBook::add(uint32_t digest_id, std::vector<ByteString> message, uint64_t now_ns) {
  const auto found = digests_.find(digest_id);
  if (found == digests_.end()) return;
  Digest& digest = found->second;
  expire(digest, now_ns);
  std::string key = key_of(message);
  if (digest.seen.contains(key)) return;
  if (digest.seen.size() >= kMost) {
    ++dropped_;
    return;
  }
  digest.seen.insert(std::move(key));
  if (digest.waiting.empty()) digest.since_ns = now_ns;
  digest.waiting.push_back(std::move(message));
}

std::vector<DueDigests> DigestBook::due(uint64_t now_ns) {
  std::vector<DueDigests> out;
  for (auto& [id, digest] : digests_) {
    expire(digest, now_ns);
    const uint64_t most = digest.config.max_list_size == 0 ? kMost : digest.config.max_list_size;
    const bool late = now_ns - digest.since_ns >= digest.config.max_timeout_ns;
    while (!digest.waiting.empty() && (late || digest.waiting.size() >= most)) {
      const auto end = digest.waiting.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(most, digest.waiting.size()));
      DueDigests list{id, ++last_list_, {digest.waiting.begin(), end}};
      digest.waiting.erase(digest.waiting.begin(), end);
      Sent sent{now_ns, {}};
      for (const auto& message : list.messages) sent.keys.push_back(key_of(message));
      if (digest.config.ack_timeout_ns > 0)
        digest.sent[list.list_id] = std::move(sent);
      else
        for (const std::string& key : sent.keys) digest.seen.erase(key);
      out.push_back(std::move(list));
    }
  }
  return out;
}

bool DigestBook::acknowledge(uint32_t digest_id, uint64_t list_id) {
  const auto digest = digests_.find(digest_id);
  if (digest == digests_.end()) return false;
  const auto list = digest->second.sent.find(list_id);
  if (list == digest->second.sent.end()) return false;
  for (const std::string& key : list->second.keys) digest->second.seen.erase(key);
  digest->second.sent.erase(list);
  return true;
}

std::optional<uint64_t> DigestBook::next_ns() const {
  std::optional<uint64_t> next;
  for (const auto& [id, digest] : digests_) {
    if (digest.waiting.empty()) continue;
    const uint64_t most = digest.config.max_list_size == 0 ? kMost : digest.config.max_list_size;
    const uint64_t at = digest.waiting.size() >= most ? 0 : digest.since_ns + digest.config.max_timeout_ns;
    next = std::min(next.value_or(at), at);
  }
  return next;
}

// Lists are numbered in the order in which they were sent.
void DigestBook::expire(Digest& digest, uint64_t now_ns) {
  while (!digest.sent.empty()) {
    const auto oldest = digest.sent.begin();
    if (now_ns - oldest->second.at_ns < digest.config.ack_timeout_ns) break;
    for (const std::string& key : oldest->second.keys) digest.seen.erase(key);
    digest.sent.erase(oldest);
  }
}

}  // namespace orrery::p4::service
