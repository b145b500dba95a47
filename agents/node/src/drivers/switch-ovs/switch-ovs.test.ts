import type { SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { INBOUND_LIMIT_BYTES } from '../../link/server-link.js';
import { NotKept } from './not-kept.js';
import { OVS_ENTRIES, switchOvs } from './switch-ovs.js';

it('declares no more entries than a message of the server holds, even if each has a group of its own', () => {
  const fields = Object.keys(switchOvs.abilities.match).map((field) => [
    field,
    { value: 2 ** 48 - 1, mask: 2 ** 48 - 1 },
  ]);
  const entry: SwitchSpec['entries'][number] = {
    table: 'steer',
    priority: 65_535,
    rule_id: 'r'.repeat(64),
    match: { port: 'p'.repeat(64), fields: Object.fromEntries(fields) },
    actions: [{ do: 'group', group: 2 ** 31 }],
  };
  const toHop = [
    { do: 'set-mac', field: 'eth.dst', mac: '02:0e:ff:ff:00:00' },
    { do: 'output', port: 'p'.repeat(64) },
  ] as const;
  const group: SwitchSpec['groups'][number] = {
    id: 2 ** 31,
    kind: 'select',
    key: ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'],
    buckets: Array.from({ length: 8 }, () => ({ weight: 65_536, actions: [...toHop] })),
  };
  expect(OVS_ENTRIES * (JSON.stringify(entry).length + JSON.stringify(group).length)).toBeLessThan(INBOUND_LIMIT_BYTES);
});

it('counts packets of flows without room from when it began, also where counters of the switch begin anew', () => {
  const notKept = new NotKept();
  for (const [seven, eight] of [
    [100, 0],
    [103, 0],
    [2, 5],
    [4, null],
    [4, 90],
    [4, 91],
  ] as const)
    notKept.take(new Map([[7, seven], ...(eight === null ? [] : [[8, eight] as const])]));
  const { without_room, unkept } = notKept.figures;
  expect([...without_room!]).toEqual([
    [7, 3 + 2 + 2],
    [8, 5 + 1],
  ]);
  expect(unkept).toEqual({ 'their split has no room': 13 });
});
