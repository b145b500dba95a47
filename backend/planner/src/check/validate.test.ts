import { ChainDefinition } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chainOf, FIGURE_3_1 } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { validateChain } from './validate.js';

const context = { descriptors: CATALOGUE, hosts: [{ id: 'client-1' }, { id: 'client-2' }] };
const check = (definition: ChainDefinition) => validateChain(definition, context);
const codes = (definition: ChainDefinition) => check(definition).map(({ code }) => code);
const at = (definition: ChainDefinition, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], definition);

describe('validateChain', () => {
  it('accepts E2 figure 3.1', () => {
    expect(check(FIGURE_3_1)).toEqual([]);
  });

  it('names the nodes of a cycle and marks one of its edges', () => {
    const definition = chainOf({ a: 'monitor', b: 'firewall' }, [
      ['in', 'a', [['port.dst', 'is', 1]]],
      ['a', 'b'],
      ['b', 'a', [['port.dst', 'is', 2]]],
      ['b', 'out', [['port.dst', 'is-not', 2]]],
    ]);
    const problem = check(definition).find(({ code }) => code === 'cycle');
    expect(problem).toMatchObject({ severity: 'error', node: 'a', edge: 'e2', pointer: '/edges/2' });
    expect(problem?.message).toContain('a -> b -> a');
  });

  it.each([
    [
      'unknown-nf',
      chainOf({ a: 'nothing' }, [
        ['in', 'a'],
        ['a', 'out'],
      ]),
      '/nodes/1/nf',
    ],
    [
      'bad-filter',
      chainOf({ a: 'monitor' }, [
        ['in', 'a', [['ip.src', 'is', '10.0.0.300']]],
        ['a', 'out'],
      ]),
      '/edges/0/filter/0/value',
    ],
    [
      'bad-filter',
      chainOf({ a: 'monitor' }, [
        ['in', 'a', [['port.dst', 'is', '90-80']]],
        ['a', 'out'],
      ]),
      '/edges/0/filter/0/value',
    ],
    [
      'bad-filter',
      chainOf({ a: 'monitor' }, [
        ['in', 'a', [['ip.proto', 'is', 256]]],
        ['a', 'out'],
      ]),
      '/edges/0/filter/0/value',
    ],
    [
      'bad-filter',
      chainOf({ a: 'monitor' }, [
        [
          'in',
          'a',
          [
            ['ip.proto', 'is', 'icmp'],
            ['port.dst', 'is', 80],
          ],
        ],
        ['a', 'out'],
      ]),
      '/edges/0/filter',
    ],
    [
      'bad-filter',
      chainOf({ a: 'ids' }, [
        ['in', 'a'],
        ['a', 'out', [['a.verdict', 'is', 'odd']]],
      ]),
      '/edges/1/filter/0/value',
    ],
    [
      'bad-filter',
      chainOf(
        { a: 'ids' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { match: [['a.verdict', 'is', 'safe']] },
      ),
      '/traffic_class/match/0/attribute',
    ],
    [
      'unknown-attribute',
      chainOf({ a: 'ids' }, [
        ['in', 'a'],
        ['a', 'out', [['a.colour', 'is', 'red']]],
      ]),
      '/edges/1/filter/0/attribute',
    ],
    [
      'unknown-attribute',
      chainOf({ a: 'ids' }, [
        ['in', 'a'],
        ['a', 'out', [['x.verdict', 'is', 'safe']]],
      ]),
      '/edges/1/filter/0/attribute',
    ],
    [
      'attribute-not-upstream',
      chainOf({ a: 'monitor', b: 'ids' }, [
        ['in', 'a'],
        ['a', 'b', [['b.verdict', 'is', 'safe']]],
        ['b', 'out'],
      ]),
      '/edges/1/filter/0/attribute',
    ],
    [
      'unreachable-node',
      chainOf({ a: 'monitor', b: 'monitor' }, [
        ['in', 'a'],
        ['a', 'out'],
        ['b', 'out'],
      ]),
      '/nodes/2',
    ],
    [
      'dead-end',
      chainOf({ a: 'monitor', b: 'monitor' }, [
        ['in', 'a'],
        ['a', 'out', [['port.dst', 'is', 1]]],
        ['a', 'b', [['port.dst', 'is-not', 1]]],
      ]),
      '/nodes/2',
    ],
    [
      'unknown-node',
      chainOf({ a: 'monitor' }, [
        ['in', 'a'],
        ['a', 'out'],
        ['a', 'zz'],
      ]),
      '/edges/2/to',
    ],
    [
      'self-loop',
      chainOf({ a: 'monitor' }, [
        ['in', 'a'],
        ['a', 'out'],
        ['a', 'a'],
      ]),
      '/edges/2',
    ],
    [
      'duplicate-edge',
      chainOf({ a: 'monitor' }, [
        ['in', 'a'],
        ['a', 'out'],
        ['a', 'out'],
      ]),
      '/edges/2',
    ],
    [
      'unknown-host',
      chainOf(
        { a: 'monitor' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { from: ['nobody'] },
      ),
      '/traffic_class/from/0',
    ],
    [
      'ingress-egress',
      chainOf({ a: 'monitor' }, [
        ['in', 'a'],
        ['a', 'out'],
        ['out', 'a', [['port.dst', 'is', 1]]],
      ]),
      '/edges/2/from',
    ],
    [
      'bad-config',
      chainOf(
        { a: 'firewall' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { config: { a: { default: 'perhaps' } } },
      ),
      '/nodes/1/config/default',
    ],
    [
      'bad-config',
      chainOf(
        { a: 'firewall' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { config: { a: { rules: [{ action: 1 }] } } },
      ),
      '/nodes/1/config/rules/0/action',
    ],
    [
      'bad-config',
      chainOf(
        { a: 'nat' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { config: { a: { external_addresses: ['10.0.0.1'] } } },
      ),
      '/nodes/1/config/external_addresses/0',
    ],
    [
      'ambiguous-edges',
      chainOf({ a: 'ids', b: 'monitor' }, [
        ['in', 'a'],
        ['a', 'b', [['a.verdict', 'is', 'safe']]],
        ['a', 'out', [['port.dst', 'is', '70-90']]],
        ['b', 'out'],
      ]),
      '/edges/2/filter',
    ],
  ] as const)('reports %s with a pointer to it', (code, definition, pointer) => {
    const problems = check(definition).filter((problem) => problem.code === code && problem.severity === 'error');
    expect(problems.map((problem) => problem.pointer)).toContain(pointer);
    for (const problem of check(definition)) {
      if (!problem.pointer.startsWith('/nodes/1/config')) expect(at(definition, problem.pointer)).toBeDefined();
    }
  });

  it('shows a packet that two edges match', () => {
    const definition = chainOf({ a: 'monitor' }, [
      ['in', 'a'],
      [
        'a',
        'out',
        [
          ['ip.src', 'is', '10.1.0.0/16'],
          ['port.dst', 'is', '0-443'],
        ],
      ],
      [
        'a',
        'out',
        [
          ['ip.src', 'is', '10.1.2.0/24'],
          ['port.dst', 'is', '443-500'],
        ],
      ],
    ]);
    const problem = check(definition).find(({ code }) => code === 'ambiguous-edges');
    expect(problem?.message).toContain('TCP from 10.1.2.0 to port 443');
  });

  it('does not call edges ambiguous that no packet of the class can both match', () => {
    const edges: Parameters<typeof chainOf>[1] = [
      ['in', 'a'],
      ['a', 'out', [['ip.proto', 'is', 'tcp']]],
      ['a', 'out', [['port.dst', 'is', 80]]],
    ];
    expect(codes(chainOf({ a: 'monitor' }, edges))).toContain('ambiguous-edges');
    const udpOnly = codes(chainOf({ a: 'monitor' }, edges, { match: [['ip.proto', 'is', 'udp']] }));
    expect(udpOnly).not.toContain('ambiguous-edges');
  });

  it('warns about traffic that no edge takes, with an example, and not when the class excludes it', () => {
    const edges: Parameters<typeof chainOf>[1] = [
      ['in', 'a'],
      [
        'a',
        'out',
        [
          ['ip.proto', 'is', 'tcp'],
          ['port.dst', 'is', 80],
        ],
      ],
      [
        'a',
        'out',
        [
          ['ip.proto', 'is', 'tcp'],
          ['port.dst', 'is-not', 80],
        ],
      ],
    ];
    const problem = check(chainOf({ a: 'monitor' }, edges)).find(({ code }) => code === 'uncovered-traffic');
    expect(problem).toMatchObject({ severity: 'warning', node: 'a', pointer: '/nodes/1' });
    expect(problem?.message).toContain('UDP');
    expect(codes(chainOf({ a: 'monitor' }, edges, { match: [['ip.proto', 'is', 'tcp']] }))).toEqual([]);
  });

  it('forgets what a filter said about a field once an NF rewrites it', () => {
    const chain = (nf: string) =>
      chainOf({ a: nf }, [
        ['in', 'a', [['port.src', 'is', '1000-2000']]],
        ['a', 'out', [['port.src', 'is', '1000-2000']]],
      ]);
    const uncoveredAt = (nf: string) => check(chain(nf)).map(({ code, node }) => `${code} ${node}`);
    expect(uncoveredAt('monitor')).toEqual(['uncovered-traffic in']);
    expect(uncoveredAt('nat')).toEqual(['uncovered-traffic in', 'uncovered-traffic a']);
  });

  it('takes an attribute for not set where packets came round its NF', () => {
    const definition = chainOf({ a: 'ids', b: 'monitor' }, [
      ['in', 'a', [['port.dst', 'is', 80]]],
      ['in', 'b', [['port.dst', 'is-not', 80]]],
      ['a', 'b'],
      ['b', 'out', [['a.verdict', 'is', 'safe']]],
      ['b', 'out', [['a.verdict', 'is', 'unsafe']]],
    ]);
    const [problem] = check(definition);
    expect(problem).toMatchObject({ code: 'uncovered-traffic', node: 'b' });
    expect(problem?.message).toContain('a.verdict not set');
  });

  it('accepts an empty draft without throwing and says what is missing', () => {
    const empty = ChainDefinition.parse({
      name: 'e',
      title: 'e',
      traffic_class: { from: ['client-1'] },
      nodes: [],
      edges: [],
    });
    expect(codes(empty)).toEqual(['ingress-egress', 'ingress-egress']);
  });
});
