import type { SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { INBOUND_LIMIT_BYTES } from '../../link/server-link.js';
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
