import { readP4Info } from '@orrery/contract';
import protobuf from 'protobufjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { P4Info } from './p4-info.js';
import { parseTextFormat } from './text-format.js';

/** What of the schema the tests need, so that they run without a set-up. */
const SCHEMA = `
syntax = "proto3";
package p4.config.v1;
message Preamble { uint32 id = 1; string name = 2; repeated string annotations = 3; }
message MatchField {
  enum MatchType { UNSPECIFIED = 0; EXACT = 2; LPM = 3; TERNARY = 4; RANGE = 5; }
  uint32 id = 1; string name = 2; int32 bitwidth = 4; oneof match { MatchType match_type = 5; }
}
message Table { Preamble preamble = 1; repeated MatchField match_fields = 2; int64 size = 8; bool is_const_table = 10; }
message Param { uint32 id = 1; string name = 2; int32 bitwidth = 4; }
message Action { Preamble preamble = 1; repeated Param params = 2; }
message P4Info { repeated Table tables = 2; repeated Action actions = 3; map<string, Param> named = 9; bytes raw = 10; }
`;

const TEXT = `
# proto-file: p4/config/v1/p4info.proto
tables {
  preamble { id: 0x02000001 name: "Ingress.admit" annotations: "@name(\\"a\\")" annotations: 'b' }
  match_fields { id: 1 name: "port" bitwidth: 9 match_type: TERNARY }
  match_fields: < id: 2, name: "flow" "" bitwidth: 16; match_type: RANGE >
  size: 16384
}
actions { preamble { id: 7 name: "Ingress.send" } params { id: 1 name: "mac" bitwidth: 48 } params { id: 2 name: "port" bitwidth: 9 } }
actions { preamble { id: 8 name: "drop" } }
named { key: "x" value { id: 3 } }
raw: "\\001\\xff\\n"
`.replace(' ""', '');

let type: protobuf.Type;
beforeAll(() => {
  type = protobuf.parse(SCHEMA).root.resolveAll().lookupType('p4.config.v1.P4Info');
});

describe('text format of protocol buffers', () => {
  it('is read into a message that encodes to what the text says', () => {
    const message = parseTextFormat(TEXT, type);
    const read = type.toObject(type.decode(type.encode(type.fromObject(message)).finish()), {
      longs: Number,
      enums: String,
    });
    expect(read).toMatchObject({
      tables: [
        {
          preamble: { id: 0x02000001, name: 'Ingress.admit', annotations: ['@name("a")', 'b'] },
          matchFields: [
            { id: 1, name: 'port', bitwidth: 9, matchType: 'TERNARY' },
            { id: 2, name: 'flow', bitwidth: 16, matchType: 'RANGE' },
          ],
          size: 16384,
        },
      ],
      named: { x: { id: 3 } },
      raw: Buffer.from([1, 255, 10]),
    });
  });

  it.each([
    ['tables { prembule { } }', /line 1: Table has no field prembule/],
    ['\n\ntables { size: many }', /line 3: "many" is not a int64 for size/],
    ['tables {', /ends within a Table/],
    ['tables { match_fields { match_type: FUZZY } }', /line 1: "FUZZY" is not a value of MatchType/],
    ['tables 3', /line 1: "3" is not a value of tables/],
    ['tables { size: 1 } $', /line 1: unexpected "\$"/],
    ['tables { preamble { name: 3 } }', /line 1: "3" is not a string for name/],
    ['{', /line 1: "\{" is not the name of a field/],
  ])('%j is refused by line and field', (text, reason) => {
    expect(() => parseTextFormat(text, type)).toThrow(reason);
  });
});

it('a program is known by the last part of its names', () => {
  const info = new P4Info(parseTextFormat(TEXT, type));
  expect(info.tables.get('admit')).toMatchObject({ id: 0x02000001, size: 16384 });
  expect([...info.actions.get('send')!.params.keys()]).toEqual(['mac', 'port']);
  expect(info.actions.get('drop')!.params.size).toBe(0);
});

it.each([
  ['"drop"', 'drop'],
  ["'drop'", 'drop'],
  ['"dr" "op"', 'drop'],
  ['"\\144rop"', 'drop'],
  ['"\\x64rop\\t"', 'drop\t'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['"\\303\\274ber"', 'über'],
  ['"über"', 'über'],
])('the name %s is the same to the server and to the agent', (written, name) => {
  const text = `actions { preamble { id: 0x01000001 name: ${written} } }`;
  const { actions } = parseTextFormat(text, type) as { actions: { preamble: { name: string } }[] };
  expect(actions[0]!.preamble.name).toBe(name);
  expect(readP4Info(text).actions[0]!.name).toBe(name);
});
