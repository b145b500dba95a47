// SPDX-License-Identifier: Apache-2.0
// Turns the JSON into Program and Code, part by part, in the order of the members here.
#pragma once

#include <map>
#include <set>
#include <string>

#include "p4/core/in_quotes.h"
#include "p4/program/code.h"
#include "p4/program/json_at.h"
#include "p4/program/program.h"
#include "p4/program/term.h"

namespace orrery::p4 {

struct FieldRef {
  uint32_t header;
  uint32_t word;  // in the frame
  uint32_t word_in_header;
  uint32_t width;
  bool is_signed;
  bool is_varbit;
};

class Loader {
 public:
  explicit Loader(const nlohmann::json& json);
  std::shared_ptr<const Program> run();

 private:
  using Names = std::map<std::string, uint32_t, std::less<>>;
  using Ids = std::map<uint64_t, uint32_t>;
  // What may be in an expression, besides what may be everywhere.
  struct Scope {
    const ActionInfo* action = nullptr;
    const ActionCode* action_code = nullptr;
    bool parser = false;
  };

  // load_headers.cc
  void load_header_types();
  void load_wire(HeaderType& type, const JsonAt& at);
  void load_headers();
  void load_stacks();
  void load_unions();
  void load_standard_fields();
  void load_field_lists();
  FieldRef field(const JsonAt& pair) const;
  FieldRef field_of(uint32_t header, std::string_view name, const JsonAt& at) const;
  const FieldType& field_at(uint32_t type, const JsonAt& offset) const;
  uint32_t lookup(const Names& names, const JsonAt& at, const char* what) const;

  // load_expressions.cc
  Term term(const JsonAt& at, const Scope& scope);
  Term operation(const JsonAt& at, const Scope& scope);
  Term leaf(const std::string& type, const JsonAt& value, const Scope& scope);
  Term stack_term(const Term& stack, Op of_headers, Op of_unions, const JsonAt& at) const;
  Term element_of(const JsonAt& at, const Scope& scope, Term::Type stack_type);
  Term member_of(const JsonAt& at, const Scope& scope);
  uint32_t union_member(uint32_t union_type, const JsonAt& at) const;
  Term constant(const HexNumber& number);
  // Bits of the value that count; 0: all, with the sign.
  Operand operand(const JsonAt& at, const Scope& scope, uint32_t demand, Term::Type type = Term::Type::kData);
  Operand operand_of(const Term& term, uint32_t demand, const JsonAt& at);
  uint32_t expression(const Term& term, uint32_t demand, const JsonAt& at);
  uint32_t emit(const Term& term, uint32_t demand, uint32_t depth, const JsonAt& at);
  uint32_t add_constant(const HexNumber& number);
  Operand constant_operand(uint64_t value);
  Target target(const JsonAt& at, const Scope& scope);
  Operand header_operand(const JsonAt& at, const Scope& scope, Term::Type type);

  // load_state.cc
  void load_arrays();
  uint64_t array_size(const JsonAt& at, uint32_t words_of_a_cell);
  void load_calculations();
  std::vector<CalculationInput> calculation_inputs(const std::vector<JsonAt>& inputs, bool& with_payload,
                                                   uint32_t& max_bytes);
  HashKind hash_kind(const JsonAt& at) const;
  void load_learn_lists();

  // load_actions.cc
  void load_actions();
  Instruction instruction(const JsonAt& at, const Scope& scope);
  bool header_instruction(const std::string& op, const std::vector<JsonAt>& params, const Scope& scope,
                          Instruction& out);
  bool packet_instruction(const std::string& op, const std::vector<JsonAt>& params, const Scope& scope,
                          Instruction& out);
  bool state_instruction(const std::string& op, const std::vector<JsonAt>& params, const Scope& scope,
                         Instruction& out);
  Instruction mark_to_drop(const JsonAt& at, const std::vector<JsonAt>& params);
  Instruction assignment(const std::vector<JsonAt>& params, const Scope& scope);
  uint32_t field_list(const JsonAt& at) const;

  // load_parser.cc
  void load_errors();
  void load_value_sets();
  void load_parser();
  ParserOp parser_op(const JsonAt& at);
  ParserOp extract_op(const JsonAt& at, bool with_length);
  void load_transition_key(const JsonAt& at, ParserStateCode& state);
  void load_transitions(const JsonAt& at, ParserStateCode& state);
  std::vector<uint64_t> transition_words(const JsonAt& at, const ParserStateCode& state) const;
  void load_deparser();
  void load_checksums();

  // load_tables.cc
  void load_pipelines();
  void load_action_profile(const JsonAt& at);
  void load_table(const JsonAt& at, const std::string& pipeline);
  void load_key(const JsonAt& at, TableInfo& info, TableCode& code);
  void load_table_actions(const JsonAt& at, TableInfo& info);
  void load_next(const JsonAt& at, const TableInfo& info, TableCode& code, const Names& nodes);
  void load_default(const JsonAt& at, TableInfo& info, TableCode& code);
  void load_entries(const JsonAt& at, TableInfo& info, TableCode& code);
  ConstEntry const_entry(const JsonAt& at, const TableInfo& info);
  std::vector<std::vector<uint64_t>> action_data(const JsonAt& at, uint32_t action) const;
  uint32_t table_action(const JsonAt& id, const TableInfo& info) const;
  PipelineCode load_pipeline(const JsonAt& at);
  void check_acyclic(const PipelineCode& pipeline, const JsonAt& at) const;

  JsonAt json_;
  uint64_t array_words_ = 0;
  uint32_t nesting_ = 0;  // of the expression that is read
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::shared_ptr<Code> code_ = std::make_shared<Code>();
  Names header_type_names_, header_names_, stack_names_, union_names_, union_stack_names_, union_type_names_;
  std::vector<std::vector<std::string>> union_members_;  // by union type
  std::vector<uint32_t> union_types_;                    // by union
  Names counter_names_, meter_names_, register_names_, calculation_names_, value_set_names_, table_names_,
      profile_names_, state_names_;
  std::map<size_t, FieldRef> direct_meter_targets_;  // by meter
  Ids header_ids_, union_ids_, action_ids_, field_list_ids_, learn_list_ids_;
};

}  // namespace orrery::p4
