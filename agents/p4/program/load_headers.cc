// SPDX-License-Identifier: Apache-2.0
#include "p4/program/loader.h"

namespace orrery::p4 {

namespace {

constexpr uint32_t kMaxHeaderBytes = 8192;
constexpr uint32_t kMaxFrameWords = 1 << 16;
constexpr std::string_view kValidField = "$valid$";

}  // namespace

uint32_t Loader::lookup(const Names& names, const JsonAt& at, const char* what) const {
  const std::string name = at.text();
  const auto it = names.find(name);
  if (it == names.end()) at.refuse(std::string("there is no ") + what + " named " + in_quotes(name));
  return it->second;
}

void Loader::load_header_types() {
  for (const JsonAt& at : json_.items("header_types")) {
    HeaderType type{.name = at["name"].text(), .fields = {}, .wire = {}, .wire_fields = {}};
    if (at.has("length_exp") && !at["length_exp"].is_null())
      at["length_exp"].unsupported("length_exp (the length of a varbit field is given by extract_VL)");
    for (const JsonAt& item : at["fields"].items()) {
      const std::vector<JsonAt> parts = item.items();
      if (parts.size() < 2 || parts.size() > 3) item.refuse("must be name, width and whether it is signed");
      FieldType field{.name = parts[0].text(), .width = 0, .is_signed = false, .is_varbit = false, .word = type.words};
      if (parts[1].is_text()) {
        if (parts[1].text() != "*") parts[1].refuse("must be a number of bits or *");
        if (type.varbit != kNone) item.refuse("is the second varbit field of its header");
        field.is_varbit = true;
        type.varbit = static_cast<int32_t>(type.fields.size());
        type.words += 1;
      } else {
        if (parts[1].number(0, 1 << 24) > kMaxFieldBits)
          parts[1].unsupported("a field of more than " + std::to_string(kMaxFieldBits) + " bits");
        field.width = static_cast<uint32_t>(parts[1].number(1, kMaxFieldBits));
        type.words += words_of(field.width);
        type.fixed_bits += field.width;
      }
      // p4c writes 0 for a bool's.
      if (parts.size() == 3 && !parts[2].is_null())
        field.is_signed = parts[2].is_number() ? parts[2].number(0, 1) != 0 : parts[2].boolean();
      type.fields.push_back(std::move(field));
    }
    if (type.varbit != kNone) {
      const uint64_t most = at["max_length"].number(type.fixed_bytes(), kMaxHeaderBytes);
      type.fields[static_cast<size_t>(type.varbit)].width = static_cast<uint32_t>(most - type.fixed_bytes()) * 8;
    }
    load_wire(type, at);
    if (!header_type_names_.emplace(type.name, code_->header_types.size()).second)
      at["name"].refuse("is the name of two header types");
    code_->header_types.push_back(std::move(type));
  }
}

void Loader::load_wire(HeaderType& type, const JsonAt& at) {
  if (type.fixed_bytes() > kMaxHeaderBytes)
    at.unsupported("a header of more than " + std::to_string(kMaxHeaderBytes) + " bytes");
  uint32_t place = 0;  // bits, without a varbit field
  for (size_t i = 0; i < type.fields.size();) {
    const FieldType& field = type.fields[i];
    if (field.is_varbit) {
      type.wire.push_back({WireGroup::Kind::kVarbit, 0, field.width, field.word, 0});
      ++i;
      continue;
    }
    size_t end = i;
    uint32_t group_bits = 0;
    uint32_t bits = 0;
    for (size_t j = i; place % 8 == 0 && j < type.fields.size() && !type.fields[j].is_varbit; ++j) {
      bits += type.fields[j].width;
      if (bits > 64) break;
      if (bits % 8 == 0) {
        end = j + 1;
        group_bits = bits;
      }
    }
    if (end == i) {
      type.wire.push_back({WireGroup::Kind::kBits, 0, field.width, field.word, 0});
      place += field.width;
      ++i;
      continue;
    }
    type.wire.push_back({WireGroup::Kind::kWord, static_cast<uint8_t>(group_bits / 8), group_bits,
                         static_cast<uint32_t>(type.wire_fields.size()), static_cast<uint32_t>(end - i)});
    place += group_bits;
    for (uint32_t left = group_bits; i < end; ++i) {
      left -= type.fields[i].width;
      type.wire_fields.push_back({type.fields[i].word, static_cast<uint8_t>(left), low_mask(type.fields[i].width)});
    }
  }
}

void Loader::load_headers() {
  Ids ids;
  for (const JsonAt& at : json_.items("headers")) {
    Header header{.name = at["name"].text(),
                  .type = lookup(header_type_names_, at["header_type"], "header type"),
                  .metadata = at.has("metadata") && at["metadata"].boolean(),
                  .word = code_->frame_words};
    const HeaderType& type = code_->header_types[header.type];
    code_->frame_words += type.words;
    if (code_->frame_words > kMaxFrameWords) at.unsupported("a program with so many header fields");
    if (type.varbit != kNone) {
      header.varbit = code_->varbit_bytes;
      code_->varbit_bytes += type.fields[static_cast<size_t>(type.varbit)].width / 8;
    }
    if (header.metadata) code_->metadata.push_back({header.word, type.words});
    const auto index = static_cast<uint32_t>(code_->headers.size());
    if (!header_names_.emplace(header.name, index).second) at["name"].refuse("is the name of two headers");
    ids.emplace(at["id"].number(0, UINT32_MAX), index);
    code_->headers.push_back(std::move(header));
  }
  header_ids_ = std::move(ids);
}

void Loader::load_unions() {
  for (const JsonAt& at : json_.items("header_union_types")) {
    std::vector<std::string> members;
    for (const JsonAt& member : at["headers"].items()) members.push_back(member.tuple(2)[0].text());
    union_type_names_.emplace(at["name"].text(), union_members_.size());
    union_members_.push_back(std::move(members));
  }
  for (const JsonAt& at : json_.items("header_unions")) {
    Union each{.name = at["name"].text(), .headers = {}};
    const uint32_t type = lookup(union_type_names_, at["union_type"], "header union type");
    const auto index = static_cast<uint32_t>(code_->unions.size());
    for (const JsonAt& id : at["header_ids"].tuple(union_members_[type].size())) {
      const auto it = header_ids_.find(id.number(0, UINT32_MAX));
      if (it == header_ids_.end()) id.refuse("is the id of no header");
      code_->headers[it->second].in_union = static_cast<int32_t>(index);
      each.headers.push_back(it->second);
    }
    union_names_.emplace(each.name, index);
    union_ids_.emplace(at["id"].number(0, UINT32_MAX), index);
    union_types_.push_back(type);
    code_->unions.push_back(std::move(each));
  }
}

void Loader::load_stacks() {
  const auto load = [&](const JsonAt& at, const char* member, const Ids& ids, Names& names, std::vector<Stack>& out) {
    Stack stack{.name = at["name"].text(), .elements = {}, .next_word = code_->frame_words++};
    for (const JsonAt& id : at[member].items()) {
      const auto it = ids.find(id.number(0, UINT32_MAX));
      if (it == ids.end()) id.refuse("is not the id of such an element");
      stack.elements.push_back(it->second);
    }
    if (stack.elements.empty()) at[member].refuse("must have elements");
    names.emplace(stack.name, out.size());
    out.push_back(std::move(stack));
  };
  for (const JsonAt& at : json_.items("header_stacks")) {
    load(at, "header_ids", header_ids_, stack_names_, code_->stacks);
    for (const uint32_t header : code_->stacks.back().elements)
      if (code_->headers[header].type != code_->headers[code_->stacks.back().elements[0]].type)
        at["header_ids"].refuse("must be headers of one type");
  }
  for (const JsonAt& at : json_.items("header_union_stacks")) {
    load(at, "header_union_ids", union_ids_, union_stack_names_, code_->union_stacks);
    for (const uint32_t each : code_->union_stacks.back().elements)
      if (union_types_[each] != union_types_[code_->union_stacks.back().elements[0]])
        at["header_union_ids"].refuse("must be unions of one type");
  }
}

FieldRef Loader::field_of(uint32_t header, std::string_view name, const JsonAt& at) const {
  const Header& in = code_->headers[header];
  if (name == kValidField) return {header, in.word, 0, 1, false, false};
  for (const FieldType& field : code_->header_types[in.type].fields)
    if (field.name == name)
      return {header, in.word + field.word, field.word, field.width, field.is_signed, field.is_varbit};
  at.refuse("header " + in_quotes(in.name) + " has no field " + in_quotes(name));
}

FieldRef Loader::field(const JsonAt& pair) const {
  const std::vector<JsonAt> parts = pair.tuple(2);
  return field_of(lookup(header_names_, parts[0], "header"), parts[1].text(), parts[1]);
}

const FieldType& Loader::field_at(uint32_t type, const JsonAt& offset) const {
  const HeaderType& header_type = code_->header_types[type];
  const uint64_t index = offset.number(0, UINT32_MAX);
  if (index >= header_type.fields.size())
    offset.refuse("is not the place of a field of " + in_quotes(header_type.name));
  return header_type.fields[index];
}

void Loader::load_standard_fields() {
  std::map<std::string, FieldRef, std::less<>> aliases;
  for (const JsonAt& at : json_.items("field_aliases")) {
    const std::vector<JsonAt> pair = at.tuple(2);
    aliases.emplace(pair[0].text(), field(pair[1]));
  }
  StandardFields& out = code_->standard;
  const auto find = [&](StandardFields::Field& to, std::initializer_list<std::pair<const char*, const char*>> names) {
    for (const auto& [header, name] : names) {
      std::optional<FieldRef> found;
      if (const auto alias = aliases.find(std::string(header) + '.' + name); alias != aliases.end()) {
        found = alias->second;
      } else if (const auto in = header_names_.find(std::string_view(header)); in != header_names_.end()) {
        const HeaderType& type = code_->header_types[code_->headers[in->second].type];
        for (const FieldType& each : type.fields)
          if (each.name == name) found = field_of(in->second, name, json_);
      }
      if (!found || found->width > 64 || found->is_varbit) continue;
      to = {static_cast<int32_t>(found->word), static_cast<uint16_t>(found->width)};
      return;
    }
  };
  constexpr const char* kStandard = "standard_metadata";
  constexpr const char* kIntrinsic = "intrinsic_metadata";
  constexpr const char* kQueueing = "queueing_metadata";
  const auto one = [&](StandardFields::Field& to, const char* header, const char* name) {
    find(to, {{header, name}, {kStandard, name}});
  };
  one(out.ingress_port, kStandard, "ingress_port");
  one(out.egress_spec, kStandard, "egress_spec");
  one(out.egress_port, kStandard, "egress_port");
  one(out.instance_type, kStandard, "instance_type");
  one(out.packet_length, kStandard, "packet_length");
  one(out.parser_error, kStandard, "parser_error");
  one(out.checksum_error, kStandard, "checksum_error");
  one(out.mcast_grp, kIntrinsic, "mcast_grp");
  one(out.egress_rid, kIntrinsic, "egress_rid");
  one(out.ingress_timestamp, kIntrinsic, "ingress_global_timestamp");
  one(out.egress_timestamp, kIntrinsic, "egress_global_timestamp");
  one(out.enq_timestamp, kQueueing, "enq_timestamp");
  one(out.enq_qdepth, kQueueing, "enq_qdepth");
  one(out.deq_timedelta, kQueueing, "deq_timedelta");
  one(out.deq_qdepth, kQueueing, "deq_qdepth");
  one(out.qid, kQueueing, "qid");
  if (out.egress_spec.word == kNone)
    json_["headers"].refuse("has no standard_metadata.egress_spec: this is not a program for simple_switch (v1model)");
}

void Loader::load_field_lists() {
  for (const JsonAt& at : json_.items("field_lists")) {
    std::vector<FieldCopy> list;
    for (const JsonAt& element : at["elements"].items()) {
      if (element["type"].text() != "field")
        element["type"].unsupported(in_quotes(element["type"].text()) + " in a field list");
      const FieldRef ref = field(element["value"]);
      if (ref.is_varbit) element.unsupported("a varbit field in a field list");
      list.push_back({ref.word, words_of(ref.width)});
    }
    field_list_ids_.emplace(at["id"].number(0, UINT32_MAX), code_->field_lists.size());
    code_->field_lists.push_back(std::move(list));
  }
}

}  // namespace orrery::p4
