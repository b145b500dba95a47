// SPDX-License-Identifier: Apache-2.0
// What the packet path runs: the program with all names turned into indexes. Everything that a packet changes lies in
// one array of 64-bit words, the frame: headers, metadata and the fill of stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p4/core/bytes.h"

namespace orrery::p4 {

inline constexpr int32_t kNone = -1;
// Of numbers in expressions, with the sign; also of a field.
inline constexpr uint32_t kMaxNumberBits = 2112;
inline constexpr uint32_t kMaxFieldBits = 2048;
inline constexpr uint32_t kMaxSelectBits = 2048;  // of a parser's select, and of a value set
inline constexpr uint32_t kMaxDepth = 48;         // of an expression's stack

// How bytes and fields of a header go into each other: groups of fields that are whole bytes, and up to 64 bits, are
// loaded and stored at once.
struct WireField {
  uint32_t word;  // from the header's first
  uint8_t shift;  // from the lowest bit of the group
  uint64_t mask;
};
struct WireGroup {
  enum class Kind : uint8_t { kWord, kBits, kVarbit };
  Kind kind;
  uint8_t bytes;   // kWord
  uint32_t bits;   // kWord, kBits
  uint32_t first;  // kWord: in HeaderType::wire_fields; kBits, kVarbit: word of the field
  uint32_t count;  // kWord
};

struct FieldType {
  std::string name;
  uint32_t width;  // bits; of a varbit field, at most
  bool is_signed;
  bool is_varbit;
  uint32_t word;  // from the header's first; a varbit's has its length in bits
};

struct HeaderType {
  std::string name;
  std::vector<FieldType> fields;
  uint32_t words = 1;  // the first is 1 where the header is valid, else 0
  uint32_t fixed_bits = 0;
  int32_t varbit = kNone;  // index in fields
  std::vector<WireGroup> wire;
  std::vector<WireField> wire_fields;

  uint32_t fixed_bytes() const { return fixed_bits / 8; }
};

struct Header {
  std::string name;
  uint32_t type;
  bool metadata;
  uint32_t word;        // in the frame
  uint32_t varbit = 0;  // in the frame's varbit bytes
  int32_t in_union = kNone;
};
struct Stack {  // of headers or of unions
  std::string name;
  std::vector<uint32_t> elements;
  uint32_t next_word;  // in the frame: how many are filled
};
struct Union {
  std::string name;
  std::vector<uint32_t> headers;
};

// Expressions are run on a stack of numbers; headers and unions are numbers too, their indexes.
enum class Op : uint8_t {
  kConst,         // a: in Code::constants, b: words
  kField,         // a: word in the frame, width
  kSignedField,   // the same
  kArg,           // a: word of the action's arguments, width
  kRegister,      // a: register array; pops the index
  kLookahead,     // a: bits from where the parser is, width
  kAccessField,   // b: word in the header, width; pops the header
  kStackElement,  // a: stack; pops the index, pushes a header or union, or -1
  kUnionStackElement,
  kUnionHeader,     // a: member; pops the union
  kUnionStackLast,  // a: union stack, b: member; pushes the header
  kHeaderValid,     // pops the header
  kUnionValid,      // pops the union
  kHeaderEqual,
  kUnionEqual,
  kVarbitEqual,  // of two headers
  kStackLast,    // a: stack; index of the last one
  kStackSize,
  kUnionStackLastIndex,
  kUnionStackSize,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kShl,
  kShr,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kNot,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kTwoComp,   // a: bits
  kSaturate,  // signed, a: bits
  kUnsignedSaturate,
  kTernary,  // pops no, yes, condition
  kToBool,
};

struct Step {
  Op op;
  bool is_signed = false;
  uint16_t width = 0;
  uint32_t a = 0;
  uint32_t b = 0;
};

// The numbers that all its steps need.
enum class Numbers : uint8_t { kWord, kDouble, kWide };

struct Expression {
  uint32_t first;  // in Code::steps
  uint32_t count;
  Numbers numbers;
};

struct Operand {
  enum class Kind : uint8_t { kConst, kField, kArg, kExpression, kNothing };
  Kind kind = Kind::kNothing;
  uint16_t width = 0;  // bits of field or argument
  uint32_t index = 0;  // kConst: in Code::constants, sign-extended to kMaxFieldBits where read wide; kField, kArg: word
};

// Where a value goes.
struct Target {
  uint32_t word = 0;  // in the frame, or in the header that the expression gives
  uint16_t width = 0;
  int32_t header = kNone;  // expression
};

enum class Prim : uint8_t {
  kAssign,        // target, a
  kAssignWide,    // the same, more than 64 bits
  kAssignVarbit,  // target, a: the header of each in b
  kAssignHeader,  // a, b: headers
  kAssignUnion,
  kAssignStack,
  kAssignUnionStack,
  kAddHeader,  // a
  kRemoveHeader,
  kPush,  // index: stack; a: how many
  kPop,
  kPushUnions,
  kPopUnions,
  kMarkToDrop,  // target: egress_spec; index: word of mcast_grp, 0: none
  kExit,
  kCloneIngress,  // a: session, b: field list
  kCloneEgress,
  kResubmit,  // a: field list
  kRecirculate,
  kDigest,         // index: learn list
  kTruncate,       // a: bytes
  kHash,           // target, a: base, index: calculation, b: size
  kRandom,         // target, a: low, b: high
  kCount,          // index, a
  kMeter,          // target, index, a
  kRegisterRead,   // target, index, a
  kRegisterWrite,  // index, a, b
  kJump,           // a: instruction of the action
  kJumpIfZero,     // a: condition, b
  kAssert,         // a
  kAssume,
  kLog,  // index: in Code::log_messages
};

struct Instruction {
  Prim op;
  Target target;
  Operand a;
  Operand b;
  uint32_t index = 0;
};

struct LogMessage {
  std::string format;
  std::vector<Operand> values;
};

struct ActionCode {
  uint32_t first = 0;  // in Code::instructions
  uint32_t count = 0;
  std::vector<uint32_t> arg_words;  // where each argument begins
  uint32_t args_size = 0;           // words
};

struct ParserOp {
  enum class Kind : uint8_t { kExtract, kExtractStack, kExtractUnionStack, kPrimitive, kVerify, kAdvance, kShift };
  Kind kind;
  uint32_t index = 0;   // header, stack, union stack, instruction
  uint32_t member = 0;  // of the union
  Operand a;            // length of the varbit field in bits; condition; bits to advance
  Operand b;            // error
};

struct KeyPart {
  enum class Kind : uint8_t { kField, kExpression };
  Kind kind;
  uint16_t width;
  uint32_t index;  // word, expression
  uint32_t word;   // of the key
};
struct Transition {
  enum class Kind : uint8_t { kValue, kValueSet };
  Kind kind;
  uint32_t words = 0;  // in Code::match_words: value, then mask; of a set the mask
  uint32_t value_set = 0;
  int32_t next = kNone;  // state; kNone: accept
};
struct ParserStateCode {
  std::string name;
  std::vector<ParserOp> ops;
  std::vector<KeyPart> key;
  uint32_t key_words = 0;
  std::vector<Transition> transitions;
  int32_t default_next = kNone;
};

struct CalculationInput {
  enum class Kind : uint8_t { kField, kConst, kHeader, kVarbit };
  Kind kind;
  uint32_t header = 0;
  uint32_t word = 0;  // in the frame; kConst: in Code::constants
  uint32_t width = 0;
};
enum class HashKind : uint8_t { kCrc16, kCrc32, kCsum16, kXor16, kIdentity, kCrc16Custom, kCrc32Custom, kCrcCcitt };
struct Calculation {
  std::string name;
  HashKind hash;
  std::vector<CalculationInput> inputs;
  bool with_payload = false;
  uint32_t max_bytes = 0;
};
struct ChecksumCode {
  std::string name;
  uint32_t header;
  uint32_t word;
  uint16_t width;
  uint32_t calculation;
  Operand condition;  // kNothing: always
};

// Of a table's key: where a field's bits come to lie.
struct TableKeyPart {
  uint32_t from = 0;                // word in the frame
  uint16_t width = 0;               // bits
  uint16_t to = 0;                  // word of the key
  uint8_t shift = 0;                // bits, of a field that shares its word
  std::vector<uint64_t> mask = {};  // static one of the program
};
enum class TableKind : uint8_t { kExact, kLpm, kTernary, kRange };

struct Node {
  enum class Kind : uint8_t { kTable, kCondition, kAction };
  Kind kind;
  uint32_t index;        // table; condition; action
  int32_t next = kNone;  // of an action call
};
struct ConditionCode {
  std::string name;
  std::string source;
  Operand expression;
  int32_t true_next = kNone;
  int32_t false_next = kNone;
};

struct ConstEntry {
  std::vector<std::pair<std::vector<uint64_t>, std::vector<uint64_t>>>
      key;  // by field: value and mask, or low and high
  std::vector<uint32_t> prefix_lengths;
  uint32_t action;
  std::vector<std::vector<uint64_t>> args;
  int32_t json_priority;  // the smaller wins
};
struct DefaultEntry {
  uint32_t action;
  std::vector<std::vector<uint64_t>> args;
};
struct TableCode {
  TableKind kind;
  std::vector<TableKeyPart> key;
  uint32_t key_words = 0;
  std::vector<int32_t> next;  // by the table's actions
  int32_t next_hit = kNone;
  int32_t next_miss = kNone;
  int32_t next_none = kNone;     // where no action runs
  bool by_hit = false;           // next_hit and next_miss say
  int32_t meter_target = kNone;  // word in the frame
  uint16_t meter_width = 0;
  std::optional<DefaultEntry> default_entry;
  std::vector<ConstEntry> entries;
};

struct SelectorCode {
  HashKind hash;
  std::vector<CalculationInput> inputs;
  uint32_t max_bytes = 0;
};

struct PipelineCode {
  std::string name;
  std::vector<Node> nodes;
  int32_t first = kNone;
};

struct FieldCopy {
  uint32_t word;
  uint32_t words;
};

// Words of the frame that the packet path itself reads and writes; kNone where the program has no such field.
struct StandardFields {
  struct Field {
    int32_t word = kNone;
    uint16_t width = 0;
  };
  Field ingress_port, egress_spec, egress_port, instance_type, packet_length, parser_error, checksum_error, mcast_grp,
      egress_rid, ingress_timestamp, egress_timestamp, enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth, qid;
};

struct ParserErrors {
  uint32_t none = 0, too_short = 1, stack_bounds = 3, header_too_short = 4, timeout = 5, argument = 6;
  std::vector<std::pair<uint32_t, std::string>> names;
};

struct Code {
  std::vector<HeaderType> header_types;
  std::vector<Header> headers;
  std::vector<Stack> stacks;
  std::vector<Union> unions;
  std::vector<Stack> union_stacks;
  uint32_t frame_words = 0;
  uint32_t varbit_bytes = 0;
  std::vector<FieldCopy> metadata;  // what a new pass begins with as zero

  std::vector<uint64_t> constants;
  std::vector<uint64_t> match_words;
  std::vector<Step> steps;
  std::vector<Expression> expressions;
  std::vector<Instruction> instructions;
  std::vector<LogMessage> log_messages;
  std::vector<ActionCode> actions;  // by Program::actions

  std::vector<ParserStateCode> states;
  int32_t first_state = kNone;
  std::string parser_name;
  ParserErrors errors;

  std::vector<Calculation> calculations;
  std::vector<ChecksumCode> verified;
  std::vector<ChecksumCode> updated;
  std::vector<uint32_t> deparse;  // headers in order

  std::vector<TableCode> tables;  // by Program::tables
  std::vector<ConditionCode> conditions;
  std::vector<std::optional<SelectorCode>> selectors;  // by Program::action_profiles
  PipelineCode ingress;
  PipelineCode egress;

  std::vector<std::vector<FieldCopy>> field_lists;
  std::vector<std::vector<Operand>> learn_lists;  // of LearnListInfo::widths
  StandardFields standard;
};

}  // namespace orrery::p4
