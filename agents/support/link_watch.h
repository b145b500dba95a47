// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace orrery {

// Tells that an interface of this namespace has come, gone or changed (rtnetlink, RTNLGRP_LINK).
class LinkWatch {
 public:
  LinkWatch();
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  int fd() const { return fd_; }
  // Whether it has told something since the last call.
  bool clear();

 private:
  int fd_;
};

}  // namespace orrery
