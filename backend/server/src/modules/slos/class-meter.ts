import type { Sample } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { RateIntegral } from '../../platform/rate-integral.js';
import { type ClassObjective, keysOf } from './class-tasks.js';
import type { Count, Task } from './class-ways.js';

/** Packets that an engine takes from a queue at a time. */
const BATCH = 32;
const NOTHING: ReadonlyMap<string, number> = new Map();

/** Of two tasks of one core. */
interface Pair {
  readonly above: Task;
  readonly below: Task;
}

/** A task, and all those above it on its core: its packets count once, however many of those wait. */
interface Rivalry {
  readonly below: Task;
  readonly above: readonly Task[];
}

interface Inversion {
  /** Packets per second of the task below, while packets of one above waited. */
  readonly meanwhile: RateIntegral;
  /** In the report before, by queue above. */
  readonly waited: ReadonlyMap<string, number>;
}

/** What the classes of planned schedules got over the last seconds. Times are of one monotonic clock. */
export class ClassMeter {
  private readonly rates = new Map<string, RateIntegral>();
  private readonly inversions = new Map<string, Inversion>();
  private keys: ReadonlySet<string> = new Set();
  private rivalries: readonly Rivalry[] = [];

  /** Counts of what other objectives are judged by are forgotten. */
  follow(objectives: readonly ClassObjective[]): void {
    this.keys = new Set(objectives.flatMap(keysOf));
    const rivalries = new Map(objectives.flatMap(rivalriesOf).map((rivalry) => [nameOf(rivalry), rivalry]));
    this.rivalries = [...rivalries.values()];
    const names = new Set(rivalries.keys());
    for (const key of this.rates.keys()) if (!this.keys.has(key)) this.rates.delete(key);
    for (const name of this.inversions.keys()) if (!names.has(name)) this.inversions.delete(name);
  }

  /** All samples of one report of a server at once. */
  take(samples: readonly Sample[], nowMs: number): void {
    if (this.keys.size === 0) return;
    const values = new Map(samples.flatMap(({ key, value }) => (this.keys.has(key) ? [[key, value] as const] : [])));
    for (const [key, value] of values) {
      const rate = this.rates.get(key) ?? new RateIntegral();
      this.rates.set(key, rate);
      rate.take(value, nowMs);
    }
    for (const rivalry of this.rivalries) {
      const { above, below } = rivalry;
      const served = sumOf(below.queue.served, values);
      const waiting = new Map(
        above.flatMap(({ queue }) => {
          const packets = values.get(queue.waiting);
          return packets === undefined ? [] : [[queue.id, packets] as const];
        }),
      );
      if (above.some(({ queue }) => !waiting.has(queue.id)) || served === null) continue;
      const name = nameOf(rivalry);
      const { meanwhile, waited } = this.inversions.get(name) ?? { meanwhile: new RateIntegral(), waited: NOTHING };
      const waits = [...waiting].some(([id, packets]) => Math.min(waited.get(id) ?? 0, packets) >= BATCH);
      meanwhile.take(waits ? served : 0, nowMs);
      this.inversions.set(name, { meanwhile, waited: waiting });
    }
  }

  /** The amount behind a rate over the last seconds. */
  amount(key: string, seconds: number, nowMs: number): number {
    return this.rates.get(key)?.between(nowMs - 1000 * seconds, nowMs) ?? 0;
  }

  /** Packets over the last seconds. */
  packets({ plus, minus }: Count, seconds: number, nowMs: number): number {
    const of = (keys: readonly string[]) => keys.reduce((sum, key) => sum + this.amount(key, seconds, nowMs), 0);
    return Math.max(0, of(plus) - of(minus));
  }

  /** For how much of the last seconds the sample is known. */
  coveredS(key: string, seconds: number, nowMs: number): number {
    return this.rates.get(key)?.secondsSince(nowMs - 1000 * seconds) ?? 0;
  }

  /** Packets of the class below that were served while a batch or more of the one above waited for the same core. */
  servedMeanwhile(objective: ClassObjective, seconds: number, nowMs: number): number {
    return rivalriesOf(objective).reduce(
      (sum, rivalry) =>
        sum + (this.inversions.get(nameOf(rivalry))?.meanwhile.between(nowMs - 1000 * seconds, nowMs) ?? 0),
      0,
    );
  }
}

/**
 * Tasks of the class above, and of the one below without it, that share a core. A class that has no task of its own waits in
 * one queue with the class above, whose packets it then delays.
 */
export function pairsOf({ slo, ends: [above, below] }: Pick<ClassObjective, 'slo' | 'ends'>): Pair[] {
  if (slo.kind !== 'priority') return [];
  const own = below.tasks.filter(({ queue }) => !queue.classes.has(above.id));
  if (own.length === 0) return below.tasks.map((task) => ({ above: task, below: task }));
  return above.tasks.flatMap((first) =>
    own.flatMap((second) => {
      const [a, b] = [first.queue, second.queue];
      return a.server === b.server && a.core === b.core ? [{ above: first, below: second }] : [];
    }),
  );
}

function rivalriesOf(objective: ClassObjective): Rivalry[] {
  const byBelow = grouped(pairsOf(objective), ({ below }) => below.queue.id);
  return [...byBelow.values()].map((pairs) => ({ below: pairs[0]!.below, above: pairs.map(({ above }) => above) }));
}

const nameOf = ({ above, below }: Rivalry) => [below, ...above].map(({ queue }) => queue.id).join(' ');

/** Per second; null: not all of it was reported. */
function sumOf({ plus, minus }: Count, values: ReadonlyMap<string, number>): number | null {
  const of = (keys: readonly string[]) => keys.reduce((sum, key) => sum + (values.get(key) ?? Number.NaN), 0);
  const sum = of(plus) - of(minus);
  return Number.isNaN(sum) ? null : Math.max(0, sum);
}
