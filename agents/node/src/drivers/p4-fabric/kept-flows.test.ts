import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../package-root.js';
import { splitSpec } from '../../testing/switch-flows.js';
import { canonicalBytes } from '../p4runtime/bytes.js';
import type { DigestList, TableEntry, Update } from '../p4runtime/messages.js';
import { identityOf } from '../p4runtime/table-entries.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { FabricProgram } from './fabric-program.js';
import { KeptFlows, keepingSplits, keptFlows } from './kept-flows.js';

const PORTS = new Map([
  ['p1', 1],
  ['p2', 2],
  ['p3', 3],
]);
const LEFT = { mac: 0x020e_0001_0000n, port: 2n };
const KEEP = { capacity: 3, idle_timeout_s: 9 };

/** A digest for each flow, as the program tells it. */
function told(flows: readonly number[], { split = 7n, mac = LEFT.mac, port = LEFT.port } = {}): DigestList {
  const data = flows.map((flow) => {
    const values = [split, BigInt(flow), 0x0a00_0001n, 0x0a00_0002n, 17n, mac, port];
    return { struct: { members: values.map((value) => ({ bitstring: canonicalBytes(value) })) } };
  });
  return { digestId: 1, listId: '1', data };
}

describe('the flows that a P4 switch keeps', async () => {
  const { info } = await new FabricProgram(resolve(PACKAGE_ROOT, '../../twin/p4/fabric')).load();
  const splits = (border: number) => keepingSplits(splitSpec(1, switchP4.abilities, border, KEEP), PORTS);
  const entriesOf = (updates: readonly Update[]) =>
    new Map(updates.map(({ entity }) => [identityOf(entity.tableEntry!), entity.tableEntry!] as [string, TableEntry]));
  const keeping = () => {
    const flows = new KeptFlows();
    flows.follow(splits(0x8000), new Map(), info);
    return flows;
  };

  it('get an entry each that ends when it is idle, and that tells of what it was made', () => {
    const { updates, whole } = keeping().enter(told([5]), info);
    expect(whole).toBe(true);
    expect(updates).toMatchObject([{ type: 'INSERT', entity: { tableEntry: { idleTimeoutNs: '9000000000' } } }]);
    expect(keptFlows(entriesOf(updates).values(), info)).toEqual([
      { split: 7, flow_id: 5, mac: '02:0e:00:01:00:00', packets: 0 },
    ]);
  });

  it('are no more than the split has room for, told twice or not, until one ends', () => {
    const flows = keeping();
    const first = flows.enter(told([1, 2, 2]), info);
    expect([first.updates.length, first.whole]).toEqual([2, true]);
    expect(flows.enter(told([1, 2]), info)).toEqual({ updates: [], whole: true });
    const second = flows.enter(told([3, 4]), info);
    expect([second.updates.length, second.whole]).toEqual([1, false]);
    const idle = [first.updates[0]!.entity.tableEntry!];
    expect(flows.end(idle, info)).toMatchObject([{ type: 'DELETE' }]);
    expect(flows.end(idle, info)).toEqual([]);
    expect(flows.enter(told([4]), info).updates).toHaveLength(1);
  });

  it('are none of splits or targets that are not there, nor of what is no flow', () => {
    const flows = keeping();
    for (const list of [
      told([1], { split: 8n }),
      told([1], { mac: LEFT.mac + 1n }),
      told([1], { port: 3n }),
      { ...told([1]), data: [{ struct: { members: [] } }, {}] },
    ])
      expect(flows.enter(list, info)).toEqual({ updates: [], whole: true });
  });

  it('end with their target, and stay where the ranges alone change', () => {
    const flows = keeping();
    const kept = entriesOf(flows.enter(told([1, 2]), info).updates);
    expect(flows.follow(splits(1), kept, info)).toEqual([]);
    expect(flows.enter(told([1]), info).updates).toEqual([]);
    expect(flows.follow(splits(0), kept, info)).toMatchObject([{ type: 'DELETE' }, { type: 'DELETE' }]);
  });
});
