// SPDX-License-Identifier: Apache-2.0
// How an NF takes in state while packets flow: read and checked beside the worker, put in in slices, for each of which
// the worker is parked.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "nfs/nf_core.h"

namespace orrery {

// See import_rows().
template <class Row, class Take>
class RowsImport final : public StateImport {
 public:
  RowsImport(std::vector<Row> rows, Take take) : rows_(std::move(rows)), take_(std::move(take)) {}

  bool take(size_t rows) noexcept override {
    const size_t end = next_ + std::min(rows, rows_.size() - next_);
    for (; next_ < end; ++next_) take_(rows_[next_]);
    return next_ < rows_.size();
  }

 private:
  std::vector<Row> rows_;
  Take take_;
  size_t next_ = 0;
};

// `take(row)` of each row in order, while the worker is parked.
template <class Row, class Take>
std::unique_ptr<StateImport> import_rows(std::vector<Row> rows, Take take) {
  return std::make_unique<RowsImport<Row, Take>>(std::move(rows), std::move(take));
}

// `take()` once, while the worker is parked.
template <class Take>
std::unique_ptr<StateImport> import_at_once(Take take) {
  return import_rows(std::vector<char>(1), [take = std::move(take)](char) mutable { take(); });
}

// Two, one after the other.
class JoinedImport final : public StateImport {
 public:
  JoinedImport(std::unique_ptr<StateImport> first, std::unique_ptr<StateImport> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  bool take(size_t rows) noexcept override {
    if (first_taken_) return second_->take(rows);
    first_taken_ = !first_->take(rows);
    return true;
  }

 private:
  std::unique_ptr<StateImport> first_;
  std::unique_ptr<StateImport> second_;
  bool first_taken_ = false;
};

}  // namespace orrery
