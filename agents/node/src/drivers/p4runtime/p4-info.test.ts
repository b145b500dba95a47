import { readP4Info } from '@orrery/contract';
import protobuf from 'protobufjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { P4Info } from './p4-info.js';
import { p4InfoObject } from './p4-info-message.js';

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

describe('P4Info for a switch', () => {
  it('is read into a message that encodes to what the text says', () => {
    const message = p4InfoObject(TEXT, type);
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
    ['tables { size: many }', /Table: "many" is not a int64 for size/],
    ['\n\ntables {', /ends within a message/],
    ['tables { match_fields { match_type: FUZZY } }', /MatchField: "FUZZY" is not a value of MatchType/],
    ['tables { match_fields { match_type: constructor } }', /MatchField: "constructor" is not a value of MatchType/],
    ['tables {}\nali', /line 2: the text ends before the value of ali/],
    ['tables 3', /line 1: "3" is not a value of tables/],
    ['tables: 3', /P4Info: "3" is not a value of tables/],
    ['tables { size: 1 } $', /line 1: unexpected "\$"/],
    ['tables { preamble { name: 3 } }', /Preamble: "3" is not a string for name/],
    ['{', /is not JSON/],
    ['<', /line 1: "<" is not the name of a field/],
  ])('%j is refused by line or field', (text, reason) => {
    expect(() => p4InfoObject(text, type)).toThrow(reason);
  });
});

it('a program is known by the last part of its names', () => {
  const info = new P4Info(p4InfoObject(TEXT, type));
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
  const { actions } = p4InfoObject(text, type) as { actions: { preamble: { name: string } }[] };
  expect(actions[0]!.preamble.name).toBe(name);
  expect(readP4Info(text).actions[0]!.name).toBe(name);
});

it.each([
  'tables { preamble { id: 0x02000001 name: "t" } match_fields { id: 1 name: "k" bitwidth: 8 match_type: 3 } }',
  JSON.stringify({
    tables: [
      { preamble: { id: 0x02000001, name: 't' }, match_fields: [{ id: 1, name: 'k', bitwidth: 8, match_type: 3 }] },
    ],
  }),
])('the number of an enumeration in %s is its value to the server and to the agent', (text) => {
  const { tables } = p4InfoObject(text, type) as { tables: { matchFields: object[] }[] };
  expect(tables[0]!.matchFields).toMatchObject([{ matchType: 'LPM' }]);
  expect(readP4Info(text).tables[0]!.fields).toMatchObject([{ match: 'lpm' }]);
});

/** Texts of which the switch must get what the server has read, whatever else a newer compiler writes. */
const WRITTEN = [
  'tables { preamble { id: 0x02000001 name: "t" } size: 16 unheard_of { of: "x" } } brand_new: [1, 2]',
  JSON.stringify({
    tables: [{ preamble: { id: 0x02000001, name: 't', unheardOf: null }, size: '16', brandNew: [{}] }],
  }),
  JSON.stringify({ tables: [{ preamble: { id: 0x02000001, name: 't' }, size: 16, is_const_table: false }] }),
];

it.each(WRITTEN)('%s is the same to the server and to the agent', (text) => {
  const { tables } = p4InfoObject(text, type) as { tables: { preamble: object; size: string }[] };
  const [table] = readP4Info(text).tables;
  expect(tables).toMatchObject([{ preamble: { id: table!.id, name: table!.name }, size: String(table!.size) }]);
  expect(table).toMatchObject({ id: 0x02000001, name: 't', size: 16 });
  expect(JSON.stringify(tables)).not.toMatch(/unheard|brand/i);
});

it.each([
  'actions { preamble { id: 0x01000001 name: 3 } }',
  'actions { preamble: 3 }',
  'tables { preamble { id: 0x02000001 name: "t" } size: many }',
  'actions { preamble { id: 0x01000001 name: "a" }',
  'actions { preamble { id: 0x01000001 name: "a } }',
])('%s is refused by the server and by the agent', (text) => {
  expect(() => p4InfoObject(text, type)).toThrow();
  expect(() => readP4Info(text)).toThrow();
});

it('maps and bytes of JSON are read as the JSON mapping writes them', () => {
  const raw = Buffer.from([1, 255, 10]);
  const text = JSON.stringify({ named: { MyType_t: { id: 3 } }, raw: raw.toString('base64') });
  expect(p4InfoObject(text, type)).toEqual({ named: { MyType_t: { id: 3 } }, raw });
});
