import { FLOW_SPACE, SwitchSpec } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fabricContent } from './fabric-entries.js';

const PORTS = new Map([
  ['p1', 1],
  ['p2', 2],
]);
const entry = (table: string, actions: object[], match: object = { fields: {} }) => ({
  table,
  priority: 10,
  rule_id: 'r',
  match,
  actions,
});
const spec = (entries: object[], groups: object[] = []) =>
  SwitchSpec.parse({ generation: 1, ports: [], entries, groups });
const content = (entries: object[], groups: object[] = []) => fabricContent(spec(entries, groups), PORTS);
const toMac = { do: 'set-mac', field: 'eth.dst', mac: '02:0e:00:07:00:00' };
const MAC = 0x020e_0007_0000n;

describe('entries of fabric.p4', () => {
  it.each([
    ['admit', [{ do: 'mark-from-host' }, { do: 'next-table', table: 'steer' }], 'to_steer', { from_host: 1n }],
    ['admit', [{ do: 'next-table', table: 'steer' }], 'to_steer', { from_host: 0n }],
    ['admit', [{ do: 'output', port: 'p2' }], 'output', { port: 2n }],
    ['steer', [{ do: 'next-table', table: 'route' }], 'to_route', {}],
    ['steer', [toMac, { do: 'output', port: 'p1' }], 'send', { mac: MAC, port: 1n }],
    ['steer', [{ do: 'decrement-ttl' }, toMac, { do: 'output', port: 'p1' }], 'send_return', { mac: MAC, port: 1n }],
    [
      'steer',
      [
        { do: 'hash-flow', key: ['ip.src', 'ip.proto', 'port.dst'], split: 9 },
        { do: 'next-table', table: 'split' },
      ],
      'hash_flow',
      { split: 9n, addresses_mask: 0xffff_ffff_0000_0000n, rest_mask: 0xff_0000_ffffn },
    ],
    [
      'steer',
      [
        { do: 'hash-flow', key: ['ip.dst'], split: 9 },
        { do: 'next-table', table: 'keep' },
      ],
      'hash_kept',
      { split: 9n, addresses_mask: 0xffff_ffffn, rest_mask: 0n },
    ],
    ['split', [toMac, { do: 'output', port: 'p1' }], 'send', { mac: MAC, port: 1n }],
    [
      'split',
      [{ do: 'keep-flow', split: 9, capacity: 4, idle_timeout_s: 60 }, toMac, { do: 'output', port: 'p1' }],
      'send_new',
      { mac: MAC, port: 1n },
    ],
    ['route', [{ do: 'drop' }], 'drop', {}],
  ])('in %s: %j', (table, actions, action, params) => {
    expect(content([entry(table, actions)]).entries).toEqual([
      { table, priority: 11, key: {}, action, params, index: 0 },
    ]);
  });

  it('match under masks and by ranges, and IPv6 destinations in a table of their own', () => {
    const fields = { 'ip.src': { value: 0x0a000000, mask: 0xff000000 }, 'port.dst': { lo: 80, hi: 90 } };
    const drop = [{ do: 'drop' }];
    const [first, second] = content([
      entry('steer', drop, { port: 'p2', fields }),
      entry('route', drop, { ipv6_dst: '2001:db8::1', fields: { 'eth.type': { value: 0x86dd, mask: 0xffff } } }),
    ]).entries;
    expect(first!.key).toEqual({
      port: { value: 2n, mask: 0x1ffn },
      ip_src: { value: 0x0a000000n, mask: 0xff000000n },
      port_dst: { lo: 80n, hi: 90n },
    });
    expect(second).toMatchObject({ table: 'route_ipv6', priority: 0, index: 1 });
    expect(second!.key).toEqual({
      ipv6_dst: { value: 0x2001_0db8_0000_0000_0000_0000_0000_0001n, mask: 2n ** 128n - 1n },
    });
  });

  it.each([
    [
      'steer',
      [
        { do: 'set-mac', field: 'eth.src', mac: '02:00:00:00:00:01' },
        { do: 'output', port: 'p1' },
      ],
    ],
    ['route', [{ do: 'next-table', table: 'steer' }]],
    [
      'split',
      [
        { do: 'keep-flow', split: 1, capacity: 1, idle_timeout_s: 10 },
        { do: 'next-table', table: 'route' },
      ],
    ],
  ])('what the program does not do in %s is refused: %j', (table, actions) => {
    expect(() => content([entry(table, actions)])).toThrow(/is not among what fabric.p4 does/);
  });

  it('leaves out what names a port without a number, and counts the others by their place', () => {
    const to = (port: string) => entry('route', [toMac, { do: 'output', port }]);
    const at = (port: string) => entry('admit', [{ do: 'drop' }], { port, fields: {} });
    const found = content([to('p9'), to('p1'), at('p9'), at('p2')]).entries.map(({ index }) => index);
    expect(found).toEqual([1, 3]);
  });
});

describe('groups', () => {
  it('of copies become replicas with a hop for each', () => {
    const copy = (hop: number, port: string) => ({
      actions: [
        { do: 'set-hop', hop },
        { do: 'output', port },
      ],
    });
    const group = { id: 70_000, kind: 'all', buckets: [copy(7, 'p1'), copy(8, 'p9'), copy(9, 'p2')] };
    const { entries, groups } = content([entry('admit', [{ do: 'group', group: 70_000 }])], [group]);
    expect(groups).toEqual([{ id: (70_000 % 0xffff) + 1, ports: [1, 2] }]);
    expect(entries.map(({ table, params }) => [table, params])).toEqual([
      ['copies', { hop: 7n }],
      ['copies', { hop: 9n }],
      ['admit', { group: BigInt(groups[0]!.id) }],
    ]);
  });

  it('of copies have numbers of their own where 16 bits do not tell them apart', () => {
    const group = (id: number) => ({
      id,
      kind: 'all',
      buckets: [
        {
          actions: [
            { do: 'set-hop', hop: 1 },
            { do: 'output', port: 'p1' },
          ],
        },
      ],
    });
    const ids = content([], [group(5), group(5 + 0xffff), group(6)]).groups.map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
  });

  it('that share flows out cut the flow space by their weights, without gap or overlap', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 65536 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(weights, (each) => {
        const buckets = each.map((weight) => ({ weight, actions: [toMac, { do: 'output', port: 'p1' }] }));
        const { entries } = content([], [{ id: 3, kind: 'select', key: ['ip.src'], buckets }]);
        const ranges = entries.map(({ key }) => key.flow_id as { lo: bigint; hi: bigint });
        expect(ranges[0]!.lo).toBe(0n);
        expect(ranges.at(-1)!.hi).toBe(BigInt(FLOW_SPACE - 1));
        for (const [i, { lo }] of ranges.slice(1).entries()) expect(lo).toBe(ranges[i]!.hi + 1n);
        const total = each.reduce((sum, weight) => sum + weight, 0);
        if (ranges.length === each.length)
          for (const [i, { lo, hi }] of ranges.entries())
            expect(Math.abs(Number(hi - lo + 1n) - (each[i]! / total) * FLOW_SPACE)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('that share flows out are looked up by splits that no rule has', () => {
    const buckets = [{ weight: 1, actions: [toMac, { do: 'output', port: 'p1' }] }];
    const { entries } = content(
      [entry('steer', [{ do: 'decrement-ttl' }, { do: 'group', group: 3 }])],
      [{ id: 3, kind: 'select', key: ['ip.dst'], buckets }],
    );
    expect(entries.map(({ index }) => index)).toEqual([null, 0]);
    expect(entries[1]).toMatchObject({
      action: 'hash_return',
      params: { split: 0x8000_0003n, addresses_mask: 0xffff_ffffn },
    });
    expect(entries[0]!.key.split).toEqual({ value: 0x8000_0003n, mask: 0xffff_ffffn });
  });
});
