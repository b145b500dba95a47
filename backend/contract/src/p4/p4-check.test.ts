import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkP4Program } from './p4-check.js';
import { P4Entries } from './p4-entries.js';
import { p4EntriesErrors } from './p4-entries-check.js';
import { readP4Info } from './p4-info.js';
import type { P4Content } from './p4-program.js';

const EXAMPLES = new URL('../../../../twin/p4/examples/', import.meta.url);
const read = (name: string) => ({
  bmv2_json: readFileSync(new URL(`${name}.json`, EXAMPLES), 'utf8'),
  p4info: readFileSync(new URL(`${name}.p4info.txtpb`, EXAMPLES), 'utf8'),
});
const ROUTER = read('ipv4-router');
const FLOWS = read('flow-counter');
const L2 = read('l2-switch');
const PORTS = new Map([
  ['p1', 1],
  ['p2', 2],
  ['p3', null],
]);

function contentOf(program: { bmv2_json: string; p4info: string }): P4Content {
  const checked = checkP4Program(program);
  if ('errors' in checked) throw new Error(JSON.stringify(checked.errors));
  return checked.content;
}

describe('an upload', () => {
  it.each(['ipv4-router', 'l2-switch', 'flow-counter', 'nsh-forwarder', '../fabric'])('takes %s', (name) => {
    expect(checkP4Program(read(name))).not.toHaveProperty('errors');
  });

  it('says what was given in place of BMv2 JSON or P4Info', () => {
    const source = readFileSync(new URL('ipv4-router.p4', EXAMPLES), 'utf8');
    const errorsOf = (more: object) => checkP4Program({ ...ROUTER, ...more });
    const told = (pointer: string, detail: string) => ({ errors: [expect.objectContaining({ pointer, detail })] });
    const compile = 'is P4 source; compile it, e.g. by p4c';
    expect(errorsOf({ p4info: ROUTER.bmv2_json })).toEqual(told('/p4info', 'is the BMv2 JSON of p4c, not P4Info'));
    expect(errorsOf({ p4info: source })).toEqual(told('/p4info', `${compile}, and give its P4Info here`));
    expect(errorsOf({ bmv2_json: source })).toEqual(told('/bmv2_json', `${compile}, and give its BMv2 JSON here`));
    expect(errorsOf({ p4info: '[]' })).toEqual(told('/p4info', expect.not.stringContaining('P4 source')));
  });

  it('takes what p4c leaves out: hidden tables with their actions of P4Info, unused ones of the JSON', () => {
    const json = JSON.parse(FLOWS.bmv2_json);
    const { tables } = json.pipelines[0];
    const [watch] = tables.filter(({ name }: { name: string }) => name === 'Measure.watch');
    json.actions.push({ ...json.actions[0], id: 900, name: 'Measure.fold', runtime_data: [] });
    tables.push({ ...watch, id: 900, name: 'Measure.step', key: [], actions: ['Measure.fold'] });
    const unused = `actions {\n  preamble {\n    id: 30000001\n    name: "Measure.spare"\n    alias: "spare"\n  }\n}\n`;
    const program = { bmv2_json: JSON.stringify(json), p4info: FLOWS.p4info + unused };
    expect(checkP4Program(program)).not.toHaveProperty('errors');
  });

  it('is read with its tables, actions, counters and registers', () => {
    expect(contentOf(FLOWS)).toMatchObject({
      tables: [
        { name: 'Measure.hosts', size: 1024, counted: false, fields: [{ name: 'dst_addr', bits: 32, match: 'exact' }] },
        {
          name: 'Measure.watch',
          fields: [
            { name: 'src_addr', match: 'ternary' },
            { name: 'protocol', match: 'optional' },
            { name: 'dst_port', match: 'range', bits: 16 },
          ],
        },
      ],
      arrays: [
        { kind: 'counter', name: 'Measure.classes', size: 256 },
        { kind: 'register', name: 'Measure.flow_packets', size: 1024 },
        { kind: 'register', name: 'Measure.flow_bytes', size: 1024 },
      ],
    });
  });

  it('takes P4Info as JSON, which says the same', () => {
    const json = JSON.stringify({
      pkgInfo: { arch: 'v1model' },
      tables: [
        {
          preamble: { id: 38005926, name: 'Router.routes', alias: 'routes' },
          matchFields: [{ id: 1, name: 'dst_addr', bitwidth: 32, matchType: 'LPM' }],
          actionRefs: [{ id: 21143298 }, { id: 32121982, scope: 'DEFAULT_ONLY' }],
          size: '1024',
        },
      ],
      actions: [
        {
          preamble: { id: 21143298, name: 'Router.forward' },
          params: [
            { id: 1, name: 'next_hop', bitwidth: 48 },
            { id: 2, name: 'port', bitwidth: 9 },
          ],
        },
        { preamble: { id: 32121982, name: 'Router.drop' } },
      ],
      directCounters: [{ preamble: { id: 1, name: 'c' }, directTableId: 38005926 }],
    });
    const content = contentOf({ ...ROUTER, p4info: json });
    const [routes] = contentOf(ROUTER).tables;
    const [forward, drop] = routes!.actions;
    expect(content.tables).toEqual([{ ...routes, actions: [forward, { ...drop, of: 'default' }] }]);
  });

  it('takes what the compiler left out as unused, and keys and parameters of a type of their own', () => {
    const unused = `${FLOWS.p4info}\ntables { preamble { id: 0x02000001 name: "Measure.unused" } size: 16 }`;
    expect(checkP4Program({ ...FLOWS, p4info: unused })).not.toHaveProperty('errors');
    const typed = ROUTER.p4info
      .replace('bitwidth: 32', 'bitwidth: 40 type_name { name: "addr_t" }')
      .replace('bitwidth: 9', 'bitwidth: 32 type_name { name: "port_t" }');
    expect(checkP4Program({ ...ROUTER, p4info: typed })).not.toHaveProperty('errors');
  });

  /** The JSON of the router with a table of it changed. */
  function withTable(name: string, change: (table: { actions: string[] }) => unknown): string {
    const json = JSON.parse(ROUTER.bmv2_json) as { pipelines: { tables: { name: string; actions: string[] }[] }[] };
    change(json.pipelines.flatMap(({ tables }) => tables).find((table) => table.name === name)!);
    return JSON.stringify(json);
  }
  type Refusal = [what: string, program: typeof ROUTER, pointer: string, detail: RegExp];
  /** An action that no table has, under two names. */
  function unusedAction(): typeof FLOWS {
    const json = JSON.parse(FLOWS.bmv2_json) as { actions: object[] };
    json.actions.push({ name: 'Measure.other', id: 99, runtime_data: [], primitives: [] });
    const spare = 'actions { preamble { id: 0x01000001 name: "Measure.spare" } }';
    return { bmv2_json: JSON.stringify(json), p4info: `${FLOWS.p4info}\n${spare}` };
  }
  const changed = (from: string | RegExp, to: string) => ({ ...ROUTER, p4info: ROUTER.p4info.replace(from, to) });
  it.each<Refusal>([
    ['no JSON', { ...ROUTER, bmv2_json: '{' }, '/bmv2_json', /is not JSON/],
    ['another format', { ...ROUTER, bmv2_json: '{"a": 1}' }, '/bmv2_json', /not BMv2 JSON 2.x of p4c: \/__meta__/],
    [
      'a later format',
      {
        ...ROUTER,
        bmv2_json: ROUTER.bmv2_json
          .replace(/"version"\s*:\s*\[2/, '"version":[3')
          .replace(/"version" : \[\s*2/, '"version" : [3'),
      },
      '/bmv2_json',
      /\/__meta__\/version\/0 must be 2/,
    ],
    [
      'no pipelines',
      { ...ROUTER, bmv2_json: JSON.stringify({ ...JSON.parse(ROUTER.bmv2_json), pipelines: [] }) },
      '/bmv2_json',
      /\/pipelines has no pipeline/,
    ],
    ['no P4Info', { ...ROUTER, p4info: 'tables {' }, '/p4info', /the text ends within a message/],
    ['wrong signs', { ...ROUTER, p4info: 'pkg_info {\n}\n?' }, '/p4info', /line 3: unexpected "\?"/],
    ['an empty one', { ...ROUTER, p4info: 'pkg_info { arch: "v1model" }' }, '/p4info', /neither tables nor actions/],
    ['one of another program', { ...ROUTER, p4info: FLOWS.p4info }, '/p4info', /another program: .* Measure.hosts/],
    [
      'another key',
      changed('name: "dst_addr"', 'name: "to"'),
      '/p4info',
      /table Router.routes: key 1 is to, and dst_addr in the JSON/,
    ],
    ['another kind of match', changed('LPM', 'EXACT'), '/p4info', /key dst_addr is exact, and lpm in the JSON/],
    [
      'another width of a key',
      changed('bitwidth: 32', 'bitwidth: 31'),
      '/p4info',
      /table Router.routes: key dst_addr has 31 bits, and 32 in the JSON/,
    ],
    [
      'another width of a key in metadata',
      { ...FLOWS, p4info: FLOWS.p4info.replace(/(name: "dst_port"\s+bitwidth:) 16/, '$1 17') },
      '/p4info',
      /table Measure.watch: key dst_port has 17 bits, and 16 in the JSON/,
    ],
    [
      'an action of another name',
      changed('name: "Router.forward"', 'name: "Router.send"'),
      '/p4info',
      /table Router.routes has the action Router.send, which it does not have in the JSON: there it has Router.forward/,
    ],
    [
      'an action that the table lacks in the JSON',
      { ...ROUTER, bmv2_json: withTable('Router.routes', ({ actions }) => actions.splice(0, 1)) },
      '/p4info',
      /table Router.routes has the action Router.forward, which it does not have in the JSON: there it has Router.drop/,
    ],
    [
      'a table of another name',
      { ...FLOWS, p4info: FLOWS.p4info.replace('"Measure.watch"', '"Measure.look"') },
      '/p4info',
      /table Measure.look is not in the JSON, which has Measure.watch instead/,
    ],
    [
      'an action without a name',
      changed('id: 21143298\n    name: "Router.forward"', 'id: 21143298'),
      '/p4info',
      /without preamble and name/,
    ],
    [
      'another parameter',
      changed('bitwidth: 48', 'bitwidth: 47'),
      '/p4info',
      /action Router.forward has the parameters next_hop: 47, port: 9, and next_hop: 48/,
    ],
    [
      'an unknown action of a table',
      changed(/action_refs \{\s+id: 21143298/, 'action_refs {\n id: 7'),
      '/p4info',
      /has the action 7, which is not among the actions/,
    ],
    [
      'a number that is none of a table',
      changed('id: 38005926', 'id: 7'),
      '/p4info',
      /table Router.routes has the number 0x7/,
    ],
    [
      'two things of one number',
      changed('id: 32121982\n    name', 'id: 21143298\n    name'),
      '/p4info',
      /action 32121982|the same name or number/,
    ],
    [
      'strings that are translated',
      changed('bitwidth: 32\n', ''),
      '/p4info',
      /key dst_addr is translated from strings/,
    ],
    [
      'a unit that P4Runtime does not know',
      { ...FLOWS, p4info: FLOWS.p4info.replace('unit: BOTH', 'unit: WORDS') },
      '/p4info',
      /^counter Measure.classes: unit WORDS is none of UNSPECIFIED, BYTES, PACKETS, BOTH$/,
    ],
    [
      'the number of such a unit',
      { ...FLOWS, p4info: FLOWS.p4info.replace('unit: BOTH', 'unit: 4') },
      '/p4info',
      /^counter Measure.classes: unit 4 is none of/,
    ],
    [
      'a scope that P4Runtime does not know',
      changed(/(action_refs \{\s+id: 21143298)/, '$1 scope: SOMETIMES'),
      '/p4info',
      /^table Router.routes: scope SOMETIMES is none of/,
    ],
    [
      'idle time-outs that P4Runtime does not know',
      changed('size: 1024', 'size: 1024 idle_timeout_behavior: EVICT'),
      '/p4info',
      /^table Router.routes: idle_timeout_behavior EVICT is none of/,
    ],
    [
      'a register without a type',
      {
        ...FLOWS,
        p4info: FLOWS.p4info.replace(/type_spec \{\s+bitstring \{\s+bit \{\s+bitwidth: 32\s+\}\s+\}\s+\}/, ''),
      },
      '/p4info',
      /^register Measure.flow_packets has no type$/,
    ],
    [
      'a register of structs',
      {
        ...FLOWS,
        p4info: FLOWS.p4info.replace(
          /type_spec \{\s+bitstring \{\s+bit \{\s+bitwidth: 32\s+\}\s+\}\s+\}/,
          'type_spec { struct { name: "s" } }',
        ),
      },
      '/p4info',
      /^register Measure.flow_packets is not a number/,
    ],
    [
      'a register of an unknown type',
      {
        ...FLOWS,
        p4info: FLOWS.p4info.replace(
          /type_spec \{\s+bitstring \{\s+bit \{\s+bitwidth: 32\s+\}\s+\}\s+\}/,
          'type_spec { new_type { name: "count_t" } }',
        ),
      },
      '/p4info',
      /^register Measure.flow_packets has the type "count_t", which is not among the types$/,
    ],
    ...(['counter', 'meter', 'register'] as const).flatMap((kind, at): Refusal[] => {
      const array = `${kind}s { preamble { id: ${0x12 + at}000001 name: "Measure.more" } size: 8 type_spec { bitstring { bit { bitwidth: 8 } } } }`;
      const json = JSON.parse(FLOWS.bmv2_json) as Record<string, unknown[]>;
      json[`${kind}_arrays`] = [
        ...json[`${kind}_arrays`]!,
        { name: 'Measure.more', size: 8, bitwidth: 8, is_direct: false },
      ];
      return [
        [
          `a ${kind} that the JSON lacks`,
          { ...FLOWS, p4info: `${FLOWS.p4info}\n${array}` },
          '/p4info',
          new RegExp(`^${kind} Measure.more is not in the JSON$`),
        ],
        [
          `no ${kind} of the JSON`,
          { ...FLOWS, bmv2_json: JSON.stringify(json) },
          '/p4info',
          new RegExp(`^lacks ${kind} Measure.more of the JSON$`),
        ],
      ];
    }),
    [
      'another number of cells',
      { ...FLOWS, p4info: FLOWS.p4info.replace('size: 256\n}\nregisters', 'size: 255\n}\nregisters') },
      '/p4info',
      /^counter Measure.classes has 255 cells, and 256 in the JSON$/,
    ],
    [
      'an action of no table under another name',
      { ...FLOWS, ...unusedAction() },
      '/p4info',
      /^action Measure.spare is not in the JSON, which has Measure.other instead$/,
    ],
    ['deep nesting', { ...ROUTER, p4info: 'a {'.repeat(100) }, '/p4info', /deeper than 64/],
    ['too much', { ...ROUTER, p4info: '#'.repeat(1024 * 1024 + 1) }, '/p4info', /has 1048577 bytes; at most 1048576/],
  ])('is refused with %s', (_what, program, pointer, detail) => {
    const checked = checkP4Program(program);
    expect(checked).toHaveProperty('errors');
    const [first] = 'errors' in checked ? checked.errors : [];
    expect(first).toMatchObject({ pointer, detail: expect.stringMatching(detail) });
  });
});

describe('entries', () => {
  const route = {
    table: 'routes',
    match: { dst_addr: '10.0.0.0/8' },
    action: 'forward',
    params: { next_hop: '02:00:00:00:00:01', port: 'p1' },
  };
  const watch = {
    table: 'Measure.watch',
    match: { dst_port: '80..90' },
    priority: 1,
    action: 'count_as',
    params: { class: '1' },
  };
  const errors = (entries: unknown, program = ROUTER) =>
    p4EntriesErrors(P4Entries.parse(entries), contentOf(program), PORTS);

  it('are right by short and whole names, numbers and addresses', () => {
    const whole = {
      ...route,
      table: 'Router.routes',
      match: { dst_addr: '0x0b000000/8' },
      action: 'Router.forward',
      params: { next_hop: '1', port: '2' },
    };
    const all = {
      entries: [route, whole],
      default_actions: [{ table: 'routes', action: 'drop' }],
      groups: [{ id: 1, ports: ['p1', 'p2'] }],
    };
    expect(errors(all)).toEqual([]);
    expect(errors({ entries: [watch, { ...watch, priority: 2 }] }, FLOWS)).toEqual([]);
  });

  it.each([
    [{ ...route, table: 'route' }, '/entries/0/table', /no table route; it has Router.routes/],
    [{ ...route, match: { dst: '1' } }, '/entries/0/match/dst', /has no such key/],
    [{ ...route, match: { dst_addr: '10.0.0.1/8' } }, '/entries/0/match/dst_addr', /has bits that its mask leaves out/],
    [{ ...route, action: 'flood' }, '/entries/0/action', /takes Router.forward, Router.drop/],
    [{ ...route, params: { next_hop: '1' } }, '/entries/0/params/port', /action Router.forward needs it/],
    [{ ...route, params: { ...route.params, vlan: '1' } }, '/entries/0/params/vlan', /no such parameter/],
    [{ ...route, params: { ...route.params, port: 'p9' } }, '/entries/0/params/port', /the switch has no port p9/],
    [{ ...route, params: { ...route.params, port: '512' } }, '/entries/0/params/port', /more than 9 bits/],
    [{ ...route, match: { dst_addr: '0x1ffffffff' } }, '/entries/0/match/dst_addr', /has more than 32 bits/],
    [{ ...route, match: { dst_addr: '010.0.0.1' } }, '/entries/0/match/dst_addr', /010 begins with a zero/],
    [{ ...route, match: { dst_addr: '10.00.0.0/8' } }, '/entries/0/match/dst_addr', /00 begins with a zero/],
    [{ ...route, priority: 4 }, '/entries/0/priority', /has no meaning/],
  ])('%# are refused with the field', (entry, pointer, detail) => {
    expect(errors({ entries: [entry] })).toEqual([
      expect.objectContaining({ pointer, detail: expect.stringMatching(detail) }),
    ]);
  });

  it('need a priority where keys have masks or ranges, and a value where they are exact', () => {
    const { priority: _, ...without } = watch;
    const hosts = { table: 'hosts', match: {}, action: 'Measure.drop' };
    expect(errors({ entries: [without, hosts] }, FLOWS).map(({ pointer }) => pointer)).toEqual([
      '/entries/0/priority',
      '/entries/1/match/dst_addr',
    ]);
  });

  it('match different packets, however they are written', () => {
    const same = { ...route, match: { dst_addr: '0x0a000000/8' } };
    expect(errors({ entries: [route, same] })).toMatchObject([
      { pointer: '/entries/1/match', detail: 'matches the same packets as entry 0' },
    ]);
  });

  it('match different packets, whether they name a port by name or by number', () => {
    const to = (port: string) => ({ table: 'last_hop', match: { port }, action: 'NoAction' });
    expect(errors({ entries: [to('p2'), to('1'), to('3'), to('p3')] }, L2)).toEqual([]);
    expect(errors({ entries: [to('p2'), to('p1'), to(' 0x2')] }, L2)).toMatchObject([
      {
        pointer: '/entries/2/match',
        detail: 'matches the same packets as entry 0: port p2 has the number 2',
        code: 'duplicate',
      },
    ]);
    expect(errors({ entries: [to('1'), to('p1')] }, L2)).toMatchObject([
      { pointer: '/entries/1/match', detail: 'matches the same packets as entry 0: port p1 has the number 1' },
    ]);
  });

  it('fit into their table', () => {
    const entries = Array.from({ length: 257 }, (_, i) => ({ ...watch, priority: i + 1 }));
    expect(errors({ entries }, FLOWS)).toMatchObject([
      { pointer: '/entries', detail: 'table Measure.watch has room for 256 entries, not for 257' },
    ]);
  });

  it('have one default action for a table, and groups of ports of the switch', () => {
    const drop = { table: 'routes', action: 'drop' };
    const groups = [
      { id: 1, ports: ['p1', 'p1', 'p9'] },
      { id: 1, ports: ['p2'] },
    ];
    expect(
      errors({ default_actions: [drop, { ...drop, table: 'Router.routes' }], groups }).map((one) => one.pointer),
    ).toEqual(['/default_actions/1/table', '/groups/0/ports/1', '/groups/0/ports/2', '/groups/1/id']);
  });

  it('are none of tables whose entries or default actions are of the program', () => {
    const content = readP4Info(ROUTER.p4info);
    const [routes] = content.tables;
    const constant = { ...content, tables: [{ ...routes!, constant: true, constant_default: true }] };
    const given = P4Entries.parse({ entries: [route], default_actions: [{ table: 'routes', action: 'drop' }] });
    expect(p4EntriesErrors(given, constant, PORTS).map(({ pointer, detail }) => [pointer, detail])).toEqual([
      ['/entries/0/table', 'its entries are of the program'],
      ['/default_actions/0/table', 'its default action is of the program'],
    ]);
  });
});
