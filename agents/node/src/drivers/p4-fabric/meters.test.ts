import { describe, expect, it } from 'vitest';
import { P4Info } from '../p4runtime/p4-info.js';
import type { FabricMeter } from './fabric-entries.js';
import { heldMeters, meterUpdates } from './meters.js';

const INFO = new P4Info({
  meters: [{ preamble: { id: 7, name: 'ingress.rates' } }],
  counters: [{ preamble: { id: 8, name: 'ingress.over_rate' } }],
});
const meter = (id: number, index: number, rate = 1000n): FabricMeter => ({ id, index, rate, burst: 10_000n });
/** Of a switch where each index has the rate of a meter. */
const holding = (meters: readonly FabricMeter[]) =>
  heldMeters(
    meters.map(({ index, rate, burst }) => ({
      meterEntry: { meterId: 7, index: { index: String(index) }, config: { pir: `${rate}`, pburst: `${burst}` } },
    })),
  );
/** Indices whose meter is set, and whose drops begin anew. */
function begunAnew(meters: FabricMeter[], held: FabricMeter[], before: FabricMeter[] | null): number[] {
  const updates = meterUpdates(meters, holding(held), before, INFO);
  const set = updates.flatMap(({ entity }) => entity.meterEntry?.index?.index ?? []);
  const cleared = updates.flatMap(({ entity }) => entity.counterEntry?.index?.index ?? []);
  expect(cleared).toEqual(set);
  return set.map(Number);
}

describe('meters of a P4 switch', () => {
  it('go on as they are, also for an agent that does not know which there were', () => {
    expect(begunAnew([meter(1, 5)], [meter(1, 5)], [meter(1, 5)])).toEqual([]);
    expect(begunAnew([meter(1, 5)], [meter(1, 5)], null)).toEqual([]);
  });

  it('begin anew with another rate, and where the switch has lost them', () => {
    expect(begunAnew([meter(1, 5, 2000n)], [meter(1, 5)], [meter(1, 5)])).toEqual([5]);
    expect(begunAnew([meter(1, 5)], [], [meter(1, 5)])).toEqual([5]);
  });

  it('begin anew where they come back to the rate that they had', () => {
    expect(begunAnew([meter(1, 5)], [meter(1, 5)], [])).toEqual([5]);
  });

  it('begin anew where another one had the index', () => {
    const moved = [meter(1, 5), meter(1029, 6)];
    expect(begunAnew(moved, [meter(1029, 5), meter(2, 6)], [meter(1029, 5)])).toEqual([5, 6]);
  });
});
