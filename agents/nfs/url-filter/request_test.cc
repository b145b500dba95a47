// SPDX-License-Identifier: Apache-2.0
#include "nfs/url-filter/request.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "nfs/url-filter/requests.h"

namespace orrery::url_filter {
namespace {

using namespace testing;
using Rng = std::mt19937_64;

// Kind, host and path in words; each read in a buffer of just the length, so that a read beyond it is found.
std::string read(std::string_view text) {
  const auto buffer = std::make_unique<uint8_t[]>(text.size());
  std::ranges::copy(text, buffer.get());
  Request request;
  switch (request.read({buffer.get(), text.size()})) {
    case RequestKind::kNone:
      return "none";
    case RequestKind::kUnreadable:
      return "unreadable";
    case RequestKind::kHttp:
      return "http " + std::string(request.host()) + ' ' + std::string(request.path());
    default:
      return "tls " + std::string(request.host());
  }
}

TEST(Request, ReadsHostAndPathOfHttp) {
  EXPECT_EQ(read(http_request("/", "example.com")), "http example.com /");
  EXPECT_EQ(read(http_request("/a/b?c=/../d", "Example.COM:8080")), "http example.com /a/b?c=/../d");
  EXPECT_EQ(read(http_request("/x", " www.example.com. ")), "http www.example.com /x");
  EXPECT_EQ(read(http_request("/x", "[2001:db8::1]:80")), "http 2001:db8::1 /x");
  EXPECT_EQ(read(http_request("/x", "[2001:db8::1]")), "http 2001:db8::1 /x");
  EXPECT_EQ(read(http_request("/x", "")), "http  /x");
  EXPECT_EQ(read("\r\n\r\n" + http_request("/x", "h")), "http h /x") << "RFC 9112 2.2";
  EXPECT_EQ(read("POST /x HTTP/1.0\n\n"), "http  /x") << "no Host, and bare line feeds";
  EXPECT_EQ(read("GET /x HTTP/1.1\r\nhOsT\t: h\r\n\r\n"), "http h /x");
  EXPECT_EQ(read("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), "http h /*");
  EXPECT_EQ(read("PROPFIND /x HTTP/1.1\r\nHost: h\r\n\r\n"), "http h /x");
  EXPECT_EQ(read("GET  /x  HTTP/1.1\r\nHost: h\r\n\r\n"), "http h /x") << "as lenient as servers are";
}

TEST(Request, TheTargetNamesTheHostWhereItDoes) {
  EXPECT_EQ(read(http_request("http://a.example/x?y", "b.example")), "http a.example /x?y");
  EXPECT_EQ(read(http_request("https://user:pw@A.example:8443", "b.example")), "http a.example /");
  EXPECT_EQ(read(http_request("http://a.example?q", "b.example")), "http a.example /?q");
  EXPECT_EQ(read("CONNECT a.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\n"), "http a.example /");
  EXPECT_EQ(read("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n"), "http 2001:db8::1 /") << "what follows is not needed";
  EXPECT_EQ(read(http_request("/redirect?to=http://a.example", "b.example")),
            "http b.example /redirect?to=http://a.example");
}

TEST(Request, WhatCannotBeReadIsToldFromWhatIsSomethingElse) {
  EXPECT_EQ(read("GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), "unreadable");
  EXPECT_EQ(read("GET /x HTTP/1.1\r\nUser-Agent: t\r\nHost: exam"), "unreadable");
  EXPECT_EQ(read("GET /x"), "unreadable");
  EXPECT_EQ(read("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"), "unreadable");
  EXPECT_EQ(read("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "unreadable");
  EXPECT_EQ(read(http_request("/x", std::string(300, 'h'))), "unreadable");
  EXPECT_EQ(read(http_request("/x", "a b")), "unreadable");
  EXPECT_EQ(read(http_request("/x", "[::1")), "unreadable");
  for (const char* other : {"", "G", "get / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "RCPT TO:<a@b>\r\n", "GET key\r\n",
                            "EHLO h", "\x17\x03\x03 data"})
    EXPECT_EQ(read(other), "none") << other;
  EXPECT_EQ(read(std::string("\x16\x03\x03\x00\x10\x02server", 12)), "none") << "another handshake message";
}

// RFC 3986 5.2.4, with a list of segments.
std::string without_dots(const std::string& path) {
  std::vector<std::string> segments;
  bool ends_with_slash = false;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string segment = path.substr(at + 1, end - at - 1);
    ends_with_slash = segment == "." || segment == "..";
    if (segment == ".." && !segments.empty()) segments.pop_back();
    if (!ends_with_slash) segments.push_back(segment);
    at = end;
  }
  std::string out;
  for (const std::string& segment : segments) out += '/' + segment;
  return out + (ends_with_slash ? "/" : "");
}

TEST(Request, PathsHaveOneForm) {
  EXPECT_EQ(read(http_request("/a/../b/./c", "h")), "http h /b/c");
  EXPECT_EQ(read(http_request("/../../etc/passwd", "h")), "http h /etc/passwd");
  EXPECT_EQ(read(http_request("/%67ame%73/%2e%2E/x%zz%4", "h")), "http h /x%zz%4");
  EXPECT_EQ(read(http_request("/..", "h")), "http h /");
  Rng rng(1);
  static constexpr const char* kParts[] = {"/", "/", ".", "..", "a", "bc", "%2e", "%2F", "%41"};
  for (int i = 0; i < 20'000; ++i) {
    std::string target = "/", decoded = "/";
    for (uint64_t n = rng() % 12; n > 0; --n) {
      const std::string part = kParts[rng() % std::size(kParts)];
      target += part;
      decoded += part == "%2e" ? "." : part == "%2F" ? "/" : part == "%41" ? "A" : part;
    }
    ASSERT_EQ(read(http_request(target, "h")), "http h " + without_dots(decoded)) << target;
  }
}

TEST(Request, LongPathsAreCut) {
  const std::string path = '/' + std::string(3000, 'p');
  EXPECT_EQ(read(http_request(path, "h")), "http h " + path.substr(0, Request::kMaxPath));
  const std::string query = "/?" + std::string(3000, 'q');
  EXPECT_EQ(read(http_request(query, "h")), "http h " + query.substr(0, Request::kMaxPath));
}

TEST(Request, TheLongestHostAndPathFillTheRoom) {
  const std::string host(Request::kMaxHost, 'h'), path = '/' + std::string(Request::kMaxPath - 2, 'p') + '/';
  EXPECT_EQ(read(http_request(path, host)), "http " + host + ' ' + path);
}

TEST(Request, ReadsTheServerNameOfTls) {
  const std::string name = server_name_extension("WWW.Example.com");
  EXPECT_EQ(read(client_hello(name)), "tls www.example.com");
  EXPECT_EQ(read(client_hello(tls_extension(0x0a0a, "") + tls_extension(16, "alpn") + name, 0, 1)),
            "tls www.example.com");
  EXPECT_EQ(read(client_hello(tls_extension(16, "alpn"))), "tls ") << "a client that names none";
  EXPECT_EQ(read(client_hello("")), "tls ") << "without extensions";
  EXPECT_EQ(read(client_hello(name) + "more"), "tls www.example.com");
  EXPECT_EQ(read(client_hello(server_name_extension("a b"))), "unreadable");
  EXPECT_EQ(read(client_hello(tls_extension(0, "x"))), "unreadable");
}

// Of what is cut, the host is the right one or none.
TEST(Request, NoPartOfARequestIsMistakenForAnother) {
  const std::string name = server_name_extension("www.example.com");
  size_t found = 0;
  for (const std::string& whole :
       {http_request("/a/b/c?d", "www.example.com:80"), http_request("http://www.example.com/a", "other.example"),
        client_hello(name), client_hello(tls_extension(16, "alpn") + name + tls_extension(43, "versions"))}) {
    for (size_t n = 0; n < whole.size(); ++n) {
      const std::string part = read(std::string_view(whole).substr(0, n));
      if (part == "none" || part == "unreadable") continue;
      ++found;
      ASSERT_TRUE(part.starts_with("http www.example.com /") || part == "tls www.example.com") << n << ": " << part;
    }
  }
  EXPECT_GT(found, 50u);
}

TEST(Request, SurvivesWhateverComes) {
  Rng rng(2);
  const std::string name = server_name_extension("www.example.com");
  const std::vector<std::string> seeds = {http_request("/a/../b%20?x", "h"), client_hello(name),
                                          client_hello(tls_extension(16, "alpn") + name)};
  for (int i = 0; i < 50'000; ++i) {
    std::string text = seeds[rng() % seeds.size()];
    for (uint64_t n = 1 + rng() % 4; n > 0; --n) text[rng() % text.size()] = static_cast<char>(rng());
    if (rng() % 4 == 0) text.resize(rng() % text.size());
    EXPECT_NE(read(text), "");
  }
}

}  // namespace
}  // namespace orrery::url_filter
