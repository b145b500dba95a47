// SPDX-License-Identifier: Apache-2.0
#include "p4/service/data_types.h"

#include <algorithm>

#include "p4/service/failure.h"
#include "p4/service/values.h"

namespace orrery::p4::service {
namespace {

constexpr int kDeepest = 16;

class ShapeReader {
 public:
  ShapeReader(const info::P4TypeInfo& types, size_t most_leaves, const std::string& what)
      : types_(types), left_(most_leaves), what_(what) {}

  DataShape read(const info::P4DataTypeSpec& type, int depth = 0) {
    if (depth > kDeepest) refuse(Code::INVALID_ARGUMENT, "p4info: the type of " + what_ + " is nested too deeply");
    switch (type.type_spec_case()) {
      case info::P4DataTypeSpec::kBitstring:
        if (type.bitstring().has_varbit()) break;
        if (type.bitstring().has_int_()) return leaf(DataForm::kSigned, type.bitstring().int_().bitwidth());
        return leaf(DataForm::kUnsigned, type.bitstring().bit().bitwidth());
      case info::P4DataTypeSpec::kBool:
        return leaf(DataForm::kBool, 1);
      case info::P4DataTypeSpec::kSerializableEnum:
        return leaf(DataForm::kEnum,
                    named(types_.serializable_enums(), type.serializable_enum().name()).underlying_type().bitwidth());
      case info::P4DataTypeSpec::kNewType:
        return new_type(named(types_.new_types(), type.new_type().name()), depth);
      case info::P4DataTypeSpec::kStruct: {
        DataShape shape{.is_struct = true};
        for (const auto& member : named(types_.structs(), type.struct_().name()).members())
          shape.members.push_back(read(member.type_spec(), depth + 1));
        return shape;
      }
      case info::P4DataTypeSpec::kTuple: {
        DataShape shape{.is_tuple = true};
        for (const auto& member : type.tuple().members()) shape.members.push_back(read(member, depth + 1));
        return shape;
      }
      default:
        break;
    }
    refuse(Code::UNIMPLEMENTED, "p4info: the type of " + what_ + " is not supported");
  }

 private:
  DataShape new_type(const info::P4NewTypeSpec& type, int depth) {
    if (type.has_original_type()) return read(type.original_type(), depth + 1);
    return leaf(DataForm::kUnsigned, type.translated_type().sdn_bitwidth());
  }

  DataShape leaf(DataForm form, int width) {
    if (left_ == 0)
      refuse(Code::INVALID_ARGUMENT, "p4info: the type of " + what_ + " has more fields than the program");
    --left_;
    return {.form = form, .width = static_cast<uint32_t>(std::max(0, width))};
  }

  template <typename Map>
  const typename Map::mapped_type& named(const Map& map, const std::string& name) const {
    const auto found = map.find(name);
    if (found == map.end()) refuse(Code::INVALID_ARGUMENT, "p4info: there is no type \"" + name + "\" for " + what_);
    return found->second;
  }

  const info::P4TypeInfo& types_;
  size_t left_;
  const std::string& what_;
};

}  // namespace

DataShape shape_of(const info::P4DataTypeSpec& type, const info::P4TypeInfo& types, size_t most_leaves,
                   const std::string& what) {
  return ShapeReader(types, most_leaves, what).read(type);
}

size_t leaves_of(const DataShape& shape) {
  if (!shape.is_struct && !shape.is_tuple) return 1;
  size_t leaves = 0;
  for (const DataShape& member : shape.members) leaves += leaves_of(member);
  return leaves;
}

void to_data(const DataShape& shape, std::span<const ByteString>& fields, pb::P4Data* out) {
  if (shape.is_struct || shape.is_tuple) {
    pb::P4StructLike* all = shape.is_struct ? out->mutable_struct_() : out->mutable_tuple();
    for (const DataShape& member : shape.members) to_data(member, fields, all->add_members());
    return;
  }
  const ByteString& value = fields.front();
  fields = fields.subspan(1);
  switch (shape.form) {
    case DataForm::kUnsigned:
      out->set_bitstring(std::string(shortest(value)));
      break;
    case DataForm::kSigned:
      out->set_bitstring(signed_of(value, shape.width));
      break;
    case DataForm::kBool:
      out->set_bool_(bits_of(value) != 0);
      break;
    case DataForm::kEnum:
      out->set_enum_value(std::string(shortest(value)));
      break;
  }
}

ByteString from_data(const pb::P4Data& data, DataForm form, uint32_t width, const std::string& field) {
  switch (form) {
    case DataForm::kUnsigned:
      if (data.has_bitstring()) return checked(data.bitstring(), width, field + ".bitstring");
      break;
    case DataForm::kSigned:
      if (data.has_bitstring()) return unsigned_of(data.bitstring(), width, field + ".bitstring");
      break;
    case DataForm::kBool:
      if (data.has_bool_()) return ByteString(1, data.bool_() ? '\1' : '\0');
      break;
    case DataForm::kEnum:
      if (data.has_enum_value()) return checked(data.enum_value(), width, field + ".enum_value");
      break;
  }
  static constexpr const char* kNames[] = {"bitstring", "bitstring", "bool", "enum_value"};
  refuse(Code::INVALID_ARGUMENT, field + ": must be a " + kNames[static_cast<size_t>(form)]);
}

}  // namespace orrery::p4::service
