// SPDX-License-Identifier: Apache-2.0
#include "nfs/url-filter/request.h"

#include <algorithm>
#include <optional>

#include "support/checksum.h"

namespace orrery::url_filter {
namespace {

constexpr size_t kMaxMethod = 20;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equals_nocase(std::string_view a, std::string_view lower_case) {
  return std::ranges::equal(a, lower_case, [](char x, char y) { return lower(x) == y; });
}

int hex_digit(char c) {
  c = lower(c);
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes the text up to a separator from the front, with the separator. Nothing: it is not there.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at + separator.size());
  return part;
}

// The method of a request line with the blank behind it, in capitals (RFC 9110 9.1); empty: the text begins otherwise.
std::string_view method_of(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && end <= kMaxMethod && text[end] >= 'A' && text[end] <= 'Z') ++end;
  return end >= 3 && end <= kMaxMethod && end < text.size() && text[end] == ' ' ? text.substr(0, end + 1)
                                                                                : std::string_view();
}

// Of RFC 9110 9.3 and RFC 5789.
bool is_known(std::string_view method) {
  static constexpr std::string_view kMethods[] = {"GET ",     "HEAD ",    "POST ",  "PUT ",  "DELETE ",
                                                  "CONNECT ", "OPTIONS ", "TRACE ", "PATCH "};
  return std::ranges::find(kMethods, method) != std::end(kMethods);
}

// Reads numbers in network byte order from the front, and becomes bad behind the end.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : left_(bytes) {}

  bool good() const { return good_; }
  size_t size() const { return left_.size(); }
  uint32_t number(size_t bytes) {
    uint32_t value = 0;
    for (const uint8_t b : take(bytes)) value = value << 8 | b;
    return value;
  }
  // Fewer where there are not so many.
  std::span<const uint8_t> take(size_t bytes) {
    good_ = good_ && bytes <= left_.size();
    const auto part = left_.first(std::min(bytes, left_.size()));
    left_ = left_.subspan(part.size());
    return part;
  }

 private:
  std::span<const uint8_t> left_;
  bool good_ = true;
};

// The name in a server_name extension; nothing where there is none of a host.
std::optional<std::string_view> server_name(std::span<const uint8_t> extension) {
  Bytes bytes(extension);
  bytes.number(2);  // of the list
  while (bytes.good() && bytes.size() > 0) {
    const uint32_t type = bytes.number(1);
    const auto name = bytes.take(bytes.number(2));
    if (bytes.good() && type == 0) return std::string_view(reinterpret_cast<const char*>(name.data()), name.size());
  }
  return std::nullopt;
}

}  // namespace

RequestKind Request::read(std::span<const uint8_t> bytes) {
  host_length_ = length_ = 0;
  // A handshake record whose message is a ClientHello, or is not there yet.
  if (bytes.size() >= 3 && bytes[0] == 22 && bytes[1] == 3 && (bytes.size() < 6 || bytes[5] == 1))
    return read_tls(bytes);
  return read_http({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

RequestKind Request::read_http(std::string_view text) {
  while (text.starts_with("\r\n") || text.starts_with('\n')) text.remove_prefix(text[0] == '\r' ? 2 : 1);
  const std::string_view method = method_of(text);
  if (method.empty()) return RequestKind::kNone;
  text.remove_prefix(method.size());
  const auto line = take_until(text, "\n");
  if (!line) return is_known(method) ? RequestKind::kUnreadable : RequestKind::kNone;
  const size_t version = line->rfind(" HTTP/");
  if (version == std::string_view::npos) return RequestKind::kNone;
  std::string_view target = trimmed(line->substr(0, version));
  const bool is_1_x = line->substr(version).starts_with(" HTTP/1.");
  if (!is_1_x || target.empty() || target.find(' ') != std::string_view::npos) return RequestKind::kUnreadable;

  // The absolute form names the host, and so does that of CONNECT; Host then does not count (RFC 9112 3.2.2, 3.2.3).
  std::string_view authority;
  const size_t scheme = target.starts_with('/') ? std::string_view::npos : target.find("://");
  const bool connect = method == "CONNECT ", named = connect || scheme != std::string_view::npos;
  if (named) {
    if (!connect) target.remove_prefix(scheme + 3);
    const size_t end = connect ? target.size() : std::min(target.find_first_of("/?"), target.size());
    authority = target.substr(0, end);
    target.remove_prefix(end);
  }
  bool complete = false;
  int hosts = 0;
  while (!complete) {
    auto header = take_until(text, "\n");
    if (!header) break;
    if (header->ends_with('\r')) header->remove_suffix(1);
    complete = header->empty();
    const auto name = take_until(*header, ":");
    if (!name || !equals_nocase(trimmed(*name), "host")) continue;
    ++hosts;
    if (!named) authority = trimmed(*header);
  }
  // Two may differ (RFC 9112 3.2).
  if (hosts > 1 || (hosts == 0 && !named && !complete) || !set_host(authority)) return RequestKind::kUnreadable;
  append_path(target);
  return RequestKind::kHttp;
}

RequestKind Request::read_tls(std::span<const uint8_t> record) {
  Bytes header(record);
  header.take(3);  // handshake, version
  const auto fragment = header.take(header.number(2));
  Bytes handshake(fragment);
  handshake.number(1);
  Bytes hello(handshake.take(handshake.number(3)));
  hello.take(2 + 32);                                                                   // version, random
  hello.take(hello.number(1));                                                          // session
  hello.take(hello.number(2));                                                          // cipher suites
  hello.take(hello.number(1));                                                          // compression methods
  if (hello.good() && hello.size() == 0 && handshake.good()) return RequestKind::kTls;  // without extensions
  Bytes extensions(hello.take(hello.number(2)));
  while (extensions.good() && extensions.size() > 0) {
    const uint32_t type = extensions.number(2);
    const auto extension = extensions.take(extensions.number(2));
    if (!extensions.good() || type != 0) continue;
    const auto name = server_name(extension);
    return name && set_host(*name) ? RequestKind::kTls : RequestKind::kUnreadable;
  }
  const bool whole = extensions.good() && hello.good() && handshake.good() && header.good();
  return whole ? RequestKind::kTls : RequestKind::kUnreadable;
}

// With a port perhaps, and with who asks ("user@"). False: it is too long, or holds what no name does.
bool Request::set_host(std::string_view authority) {
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const size_t colon = authority.rfind(':');
  const bool in_brackets = authority.starts_with('[');
  if (colon != std::string_view::npos && (!in_brackets || authority[colon - 1] == ']'))
    authority = authority.substr(0, colon);
  if (in_brackets) {
    if (!authority.ends_with(']')) return false;
    authority = authority.substr(1, authority.size() - 2);
  }
  if (authority.ends_with('.')) authority.remove_suffix(1);
  if (authority.size() > kMaxHost) return false;
  for (const char c : authority) {
    if (c <= ' ' || c == 0x7f || c == '/' || c == '@') return false;
    url_[host_length_++] = lower(c);
  }
  length_ = host_length_;
  return true;
}

// Where the last segment of a path begins that lies from `begin` to `end`.
size_t Request::segment_before(size_t begin, size_t end) const {
  while (end > begin) {
    --end;
    if (url_[end] == '/') break;
  }
  return end;
}

void Request::append_path(std::string_view target) {
  const size_t query = std::min(target.find('?'), target.size());
  const auto append = [&](char c) {
    if (length_ - host_length_ < kMaxPath) url_[length_++] = c;
  };
  if (!target.starts_with('/')) append('/');  // "*" of OPTIONS, and none
  for (size_t i = 0; i < query; ++i) {
    const bool escape = target[i] == '%' && i + 2 < query;
    const int high = escape ? hex_digit(target[i + 1]) : -1, low = escape ? hex_digit(target[i + 2]) : -1;
    append(high < 0 || low < 0 ? target[i] : static_cast<char>(high << 4 | low));
    if (high >= 0 && low >= 0) i += 2;
  }
  // Dot segments, in place: segment by segment, each behind its slash.
  const size_t begin = host_length_;
  size_t out = begin;
  for (size_t at = begin; at < length_;) {
    const size_t end =
        static_cast<size_t>(std::find(url_.begin() + at + 1, url_.begin() + length_, '/') - url_.begin());
    const std::string_view segment = std::string_view(url_.data(), length_).substr(at + 1, end - at - 1);
    const bool last = end == length_;
    if (segment == "." || segment == "..") {
      if (segment == "..") out = segment_before(begin, out);
      if (last) url_[out++] = '/';
    } else {
      std::copy(url_.begin() + at, url_.begin() + end, url_.begin() + out);
      out += end - at;
    }
    at = end;
  }
  length_ = out;
  for (const char c : target.substr(query)) append(c);
}

}  // namespace orrery::url_filter
