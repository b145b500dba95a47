import type { FlowSelector } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FlowEnds, type FlowSplit, type MovePace, moveFlows, NotSteered } from './flow-move.js';

const ALL: FlowSelector = { match: [] };

/** One table: when each flow was used last, by a clock that counts calls. */
class Table {
  flows = new Map<string, number>();
  tables = 'first';
}

/** Two instances as agents answer for them, with packets and deaths in between. */
function bench({ portion = 3, room = Number.POSITIVE_INFINITY } = {}) {
  const from = new Table();
  const to = new Table();
  let clock = 1;
  let steered = false;
  let before: (call: string) => void = () => undefined;
  let holds = false;
  const waiting: string[] = [];
  const use = (flow: string) => {
    if (holds) waiting.push(flow);
    else (steered ? to : from).flows.set(flow, clock);
  };
  const letGo = () => {
    holds = false;
    for (const flow of waiting.splice(0)) use(flow);
  };
  const split: FlowSplit = {
    hold: async () => {
      asked('hold');
      holds = true;
    },
    end: async (steer) => {
      asked(steer ? 'steer' : 'let go');
      const packets = waiting.length;
      if (steer && !holds) throw new Error('too late');
      steered ||= steer;
      letGo();
      return { flows: from.flows.size, packets, table_full: false };
    },
  };
  const asked = (call: string) => {
    clock++;
    before(call);
  };
  const ends: FlowEnds = {
    export: async ({ after, since }) => {
      asked('export');
      const [, end = '0'] = after?.split('.') ?? [];
      const first = Number(end);
      const sinceClock = Number(since?.split('.')[2] ?? 0);
      const all = [...from.flows].slice(first, first + portion);
      const rows = all.filter(([, usedAt]) => usedAt >= sinceClock);
      const next = first + all.length;
      const last = next >= from.flows.size;
      return { state: { flows: rows }, rows: rows.length, portion: `${first}.${next}.${clock}`, last };
    },
    import: async (state) => {
      asked('import');
      let left_out = 0;
      for (const [flow, usedAt] of state.flows as [string, number][]) {
        if (!to.flows.has(flow) && to.flows.size >= room) left_out++;
        else to.flows.set(flow, Math.max(usedAt, to.flows.get(flow) ?? 0));
      }
      return { tables: to.tables, left_out };
    },
    release: async ({ portion: token }) => {
      asked('release');
      const [first, end, asOf] = token.split('.').map(Number) as [number, number, number];
      const gone = released;
      const selected = [...order].slice(first, end).filter((flow) => from.flows.has(flow));
      const idle = selected.filter((flow) => from.flows.get(flow)! < asOf);
      for (const flow of idle) pending.push(flow);
      released = gone + idle.length;
      return { released: idle.length, kept: selected.length - idle.length };
    },
  };
  // Positions of later portions must not shift: what is released leaves at the end of the round.
  let released = 0;
  const pending: string[] = [];
  let order: string[] = [];
  let now = 0;
  const pace: MovePace = {
    round_ms: 250,
    quiet_ms: 1000,
    follow_ms: 10_000,
    sleep: async (ms) => {
      now += ms;
      asked('sleep');
    },
    nowMs: () => now,
  };
  return {
    from,
    to,
    use,
    fill: (flows: readonly string[]) => {
      for (const flow of flows) from.flows.set(flow, clock);
      order = [...from.flows.keys()];
    },
    steer: () => {
      steered = true;
    },
    each: (happens: (call: string) => void) => {
      before = happens;
    },
    /** The longest wait is over. */
    timeOut: letGo,
    move: async (release: boolean, steer = false) => {
      const steering = steer ? { splits: [split], idle_ms: 60_000 } : null;
      const outcome = await moveFlows(ends, { flows: ALL, release }, steering, pace, async () => undefined);
      for (const flow of pending) from.flows.delete(flow);
      return outcome;
    },
    places: () => {
      const gone = new Set(pending);
      return { here: [...from.flows.keys()].filter((flow) => !gone.has(flow)), there: [...to.flows.keys()] };
    },
  };
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `f${i}`);

describe('flows that move', () => {
  it('are copied in portions, and copied again if packets used them meanwhile', async () => {
    const { fill, move, each, use, from, to } = bench();
    fill(names(10));
    let packets = 0;
    each((call) => call === 'import' && packets++ < 3 && use('f1'));
    const { counts, in_use } = await move(false);
    expect(counts).toMatchObject({ copied: 10, renewed: 1, released: 0, left_out: 0 });
    expect(counts.bytes).toBeGreaterThan(0);
    expect(in_use).toBe(0);
    expect(to.flows).toEqual(from.flows);
  });

  it('are released once their packets go to the other instance', async () => {
    const { fill, move, each, use, steer, places } = bench();
    fill(names(10));
    let rounds = 0;
    each((call) => {
      if (call === 'sleep' && ++rounds === 4) steer();
      if (call === 'sleep') use('f3');
    });
    const { counts, in_use } = await move(true);
    expect(counts).toMatchObject({ copied: 10, renewed: 3, released: 10 });
    expect(in_use).toBe(0);
    expect(rounds).toBe(4 + 3);
    expect(places()).toEqual({ here: [], there: names(10) });
  });

  it('stay where they are as long as packets come there', async () => {
    const { fill, move, each, use, places } = bench();
    fill(names(5));
    each((call) => call === 'sleep' && use('f0'));
    const { counts, in_use } = await move(true);
    expect(counts.released).toBe(0);
    expect(in_use).toBe(1);
    expect(places().here).toEqual(names(5));
  });

  it('are not released where the other instance had no room for one of their portion', async () => {
    const { fill, move, places } = bench({ portion: 3, room: 4 });
    fill(names(9));
    const { counts } = await move(true);
    expect(counts).toMatchObject({ copied: 4, released: 3, left_out: 5 });
    expect(places().here).toEqual(names(9).slice(3));
  });

  it('are steered while their packets wait, and no packet meets older state', async () => {
    const { fill, move, each, use, places, from, to } = bench();
    fill(names(10));
    const met: [string, number | undefined, number | undefined][] = [];
    let steered = false;
    each((call) => {
      // A packet at each step: what it meets in the other instance must be what the last one left in this one.
      if (call === 'steer') {
        steered = true;
        for (const [flow, usedAt] of from.flows) met.push([flow, usedAt, to.flows.get(flow)]);
      }
      use('f3');
      if (steered && call === 'export') expect(from.flows.get('f3')).toBeLessThan(to.flows.get('f3')!);
    });
    const { counts, in_use } = await move(true, true);
    for (const [, here, there] of met) expect(there).toBe(here);
    expect(met).toHaveLength(10);
    expect(counts).toMatchObject({ copied: 10, steered: 10, released: 10, left_out: 0 });
    expect(counts.waited).toBeGreaterThan(0);
    expect(in_use).toBe(0);
    expect(places()).toEqual({ here: [], there: expect.arrayContaining(names(10)) });
  });

  it('are held again where the wait ended too early, and stay where that does not help', async () => {
    const { fill, move, each, use, timeOut, places } = bench();
    fill(names(5));
    let early = 2;
    each((call) => {
      use('f1');
      if (call === 'steer' && early-- > 0) timeOut();
    });
    expect((await move(true, true)).counts).toMatchObject({ steered: 5, released: 5 });
    expect(places().here).toEqual([]);

    const never = bench();
    never.fill(names(5));
    let holds = 0;
    never.each((call) => {
      never.use('f1');
      if (call === 'hold') holds++;
      if (call === 'steer') never.timeOut();
    });
    await expect(never.move(true, true)).rejects.toThrow(NotSteered);
    expect(holds).toBe(5);
    expect(never.places().here).toEqual(names(5));
  });

  it('are not steered to where there is no room', async () => {
    const { fill, move, each, places } = bench({ room: 4 });
    fill(names(9));
    const calls: string[] = [];
    each((call) => calls.push(call));
    await expect(move(true, true)).rejects.toThrow(NotSteered);
    expect(calls).not.toContain('hold');
    expect(places().here).toEqual(names(9));
  });

  it('wait no longer when a call fails in the middle', async () => {
    for (let at = 1; at < 20; at++) {
      const { fill, move, each, use, from, to, places } = bench();
      fill(names(4));
      let calls = 0;
      let last = '';
      each((call) => {
        last = call;
        if (++calls === at && call !== 'let go') throw new Error('gone');
      });
      await move(true, true).catch(() => undefined);
      expect(last).not.toBe('hold');
      const { here, there } = places();
      expect(new Set([...here, ...there])).toEqual(new Set(names(4)));
      use('f0');
      expect(Math.max(from.flows.get('f0') ?? 0, to.flows.get('f0') ?? 0)).toBeGreaterThan(1);
    }
  });

  /** Released flows were confirmed by the other instance in the same round, whatever it had lost before. */
  it('are nowhere lost when an instance ends in the middle', async () => {
    let deaths = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('death of the target', 'failed call'),
        async (count, at, what) => {
          const { fill, move, each, to, places } = bench();
          fill(names(count));
          let calls = 0;
          let happened = false;
          each((call) => {
            if (++calls !== at || call === 'release') return;
            happened = true;
            if (what === 'failed call') throw new Error('gone');
            // What was released to it before is lost with it, as is every state of an instance that ends.
            if (call === 'export' && places().there.length === count && places().here.length === count)
              to.flows = new Map();
          });
          await move(true).catch(() => undefined);
          const { here, there } = places();
          expect(new Set([...here, ...there])).toEqual(new Set(names(count)));
          if (happened) deaths++;
        },
      ),
      { numRuns: 200, seed: 4 },
    );
    expect(deaths).toBeGreaterThan(50);
  });
});
