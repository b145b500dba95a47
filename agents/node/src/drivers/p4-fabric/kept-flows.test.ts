import { resolve } from 'node:path';
import type { SwitchSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../package-root.js';
import { handedOver, splitSpec } from '../../testing/switch-flows.js';
import type { TableEntry, Update } from '../p4runtime/messages.js';
import { identityOf, tableEntry } from '../p4runtime/table-entries.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { fabricContent } from './fabric-entries.js';
import { FabricProgram } from './fabric-program.js';
import { digestsMissing, exceptionEntries, idleFlows, KeptFlows, keepingSplits, keptFlows } from './kept-flows.js';
import type { ToldFlows } from './told-flows.js';

const PORTS = new Map([
  ['p1', 1],
  ['p2', 2],
  ['p3', 3],
]);
const LEFT = { mac: 0x020e_0001_0000n, port: 2n };
const KEEP = { capacity: 3, idle_timeout_s: 9 };

const LIST = { digestId: 1, listId: '1' };

/** Flows as the program tells them, in one list. */
function told(flows: readonly number[], { split = 7n, mac = LEFT.mac, port = LEFT.port } = {}): ToldFlows[] {
  const from = { ip_src: 0x0a00_0001n, ip_dst: 0x0a00_0002n, ip_proto: 17n };
  return [{ list: LIST, flows: flows.map((flow) => ({ split, flow_id: BigInt(flow), ...from, mac, port })) }];
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
    const { updates, taken } = keeping().enter(told([5]), info);
    expect(taken).toEqual([LIST]);
    expect(updates).toMatchObject([{ type: 'INSERT', entity: { tableEntry: { idleTimeoutNs: '9000000000' } } }]);
    expect(keptFlows(entriesOf(updates).values(), info)).toEqual([
      { split: 7, flow_id: 5, mac: '02:0e:00:01:00:00', packets: 0 },
    ]);
  });

  it('are no more than the split has room for, told twice or not; a full split leaves others theirs', () => {
    const flows = keeping();
    expect(flows.enter(told([1, 2, 2]), info)).toMatchObject({ updates: [{}, {}], taken: [LIST], without_room: 0 });
    expect(flows.enter(told([1, 2]), info)).toEqual({ updates: [], taken: [LIST], without_room: 0 });
    const second = flows.enter([...told([3, 4]), ...told([2])], info);
    expect(second).toMatchObject({ updates: [{}], taken: [LIST], without_room: 1 });
    expect([...flows.withoutRoom]).toEqual([[7, 1]]);
    flows.know(new Map(), info);
    expect(flows.enter(told([4]), info).updates).toHaveLength(1);
  });

  it('are none of splits or targets that are not there', () => {
    const flows = keeping();
    for (const list of [told([1], { split: 8n }), told([1], { mac: LEFT.mac + 1n }), told([1], { port: 3n })])
      expect(flows.enter(list, info)).toEqual({ updates: [], taken: [LIST], without_room: 0 });
  });

  it('end with their target, and stay where the ranges alone change', () => {
    const flows = keeping();
    const kept = entriesOf(flows.enter(told([1, 2]), info).updates);
    expect(flows.follow(splits(1), kept, info)).toEqual([]);
    expect(flows.enter(told([1]), info).updates).toEqual([]);
    expect(flows.follow(splits(0), kept, info)).toMatchObject([{ type: 'DELETE' }, { type: 'DELETE' }]);
  });

  it('get the time-out of their split anew, and leave when it has less room, the idlest first', () => {
    const flows = keeping();
    const { updates } = flows.enter(told([1, 2, 3]), info);
    const kept = new Map(
      [...entriesOf(updates)].map(([identity, entry], i) => {
        return [identity, { ...entry, timeSinceLastHit: { elapsedNs: String([5, 12_000_000_000, 7][i]) } }] as const;
      }),
    );
    const changed = keepingSplits(splitSpec(2, switchP4.abilities, 0x8000, { capacity: 2, idle_timeout_s: 30 }), PORTS);
    const after = flows.follow(changed, kept, info);
    const flowOf = ({ entity }: Update) => identityOf(entity.tableEntry!);
    const [first, second, third] = updates.map(flowOf);
    expect(after.map((one) => [one.type, flowOf(one)])).toEqual([
      ['MODIFY', first],
      ['MODIFY', third],
      ['DELETE', second],
    ]);
    expect(after[0]).toMatchObject({ entity: { tableEntry: { idleTimeoutNs: '30000000000', action: {} } } });
    expect(flows.enter(told([2]), info)).toMatchObject({ updates: [], without_room: 1 });
  });

  it('are idle when no packet has come for their own time', () => {
    const entry = (idle: string, elapsedNs?: string) =>
      ({ tableId: 1, idleTimeoutNs: idle, ...(elapsedNs && { timeSinceLastHit: { elapsedNs } }) }) as TableEntry;
    const kept = new Map([
      ['idle', entry('9000000000', '9000000000')],
      ['in use', entry('9000000000', '8999999999')],
      ['not known', entry('9000000000')],
    ]);
    expect([...idleFlows(kept).keys()]).toEqual(['idle']);
  });

  it('are told by a digest as it has to be configured', () => {
    const [insert] = digestsMissing([], info);
    expect(insert).toMatchObject({ type: 'INSERT' });
    const entity = insert!.entity;
    expect(digestsMissing([entity], info)).toEqual([]);
    const slow = { ...entity.digestEntry!, config: { ...entity.digestEntry!.config, ackTimeoutNs: '1000000000' } };
    expect(digestsMissing([{ digestEntry: slow }], info)).toEqual([{ type: 'MODIFY', entity }]);
  });

  describe('that engines hand over', () => {
    const exception = (flow_id: number) => ({
      ...{ rule_id: 'classify/c.e1', split: 7, flow_id, ip_src: 0x0a00_0001, ip_dst: 0x0a00_0002, ip_proto: 17 },
      ...{ mac: '02:0e:00:01:00:00', port: 'p2', idle_timeout_s: 9 },
    });
    const spec = handedOver(splitSpec(1, switchP4.abilities, 0x8000, null), [exception(0x9000), exception(0xa000)]);
    const wantedBy = (of: SwitchSpec) =>
      new Map(
        fabricContent(of, PORTS).entries.map((entry) => {
          const message = tableEntry(entry, info);
          return [identityOf(message), message] as const;
        }),
      );
    const none = { entries: new Map<string, TableEntry>(), kept: new Map<string, TableEntry>() };
    const entriesFor = (before: typeof none) => exceptionEntries(spec, PORTS, before, wantedBy(spec), info);

    it('get their entries with the time-out, where the switch does not have the ranges yet', () => {
      const updates = entriesFor(none);
      expect(keptFlows(entriesOf(updates).values(), info)).toMatchObject([
        { split: 7, flow_id: 0x9000, mac: '02:0e:00:01:00:00' },
        { split: 7, flow_id: 0xa000 },
      ]);
      expect(updates).toMatchObject([
        { type: 'INSERT', entity: { tableEntry: { idleTimeoutNs: '9000000000' } } },
        { type: 'INSERT' },
      ]);
    });

    it('are written to the end by an agent that was killed before the ranges, and no more after them', () => {
      const all = entriesOf(entriesFor(none));
      const [first] = all;
      expect(entriesFor({ ...none, kept: new Map([first!]) })).toHaveLength(1);
      const others = wantedBy(splitSpec(1, switchP4.abilities, 0x4000, null));
      expect(entriesFor({ ...none, entries: others })).toHaveLength(2);
      expect(entriesFor({ ...none, entries: wantedBy(spec) })).toEqual([]);
    });

    it('stay until they end, and are no reason to be told of others', () => {
      const splits_ = keepingSplits(spec, PORTS);
      expect(splits_.get(7)).toMatchObject({ capacity: 2, idle_timeout_s: 9, tells: false });
      const flows = new KeptFlows();
      expect(flows.follow(splits_, entriesOf(entriesFor(none)), info)).toEqual([]);
      expect(flows.follow(splits(0x8000), entriesOf(entriesFor(none)), info)).toEqual([]);
      expect(flows.follow(new Map(), entriesOf(entriesFor(none)), info)).toHaveLength(2);
    });
  });
});
