import { type Origin, type Plan, type Sample, type SplitSample, sampleKey, type Target } from '@orrery/contract';
import { SplitLayout, splitName, targetName } from './split-layout.js';

/** Figures without a report for this long no longer count. */
const STALE_MS = 1500;

const NONE: ReadonlySet<string> = new Set();

/** A set of counters of one source: they count on within an epoch. */
export interface SplitCounters {
  readonly epoch: string;
  readonly clock_ms: number;
  readonly splits: readonly SplitSample[];
}

/** Null: not known, or not since the report before. */
type Figure = number | null;

interface Rates {
  readonly pps: Figure;
  readonly flows: number;
  readonly exceptions: number;
}

interface NfRates {
  readonly untracked_pps: Figure;
  readonly displaced_per_s: Figure;
}

interface Newest {
  readonly epoch: string;
  readonly clock_ms: number;
  /** By split, and by split and target. */
  readonly counts: ReadonlyMap<string, Figure>;
  readonly layout: SplitLayout;
  readonly origin: Origin;
  readonly tMs: number;
  /** By instance. */
  readonly instances: ReadonlyMap<string, Rates>;
  /** By NF, `<chain>.<node>`. */
  readonly nfs: ReadonlyMap<string, NfRates>;
}

/** Sums what splits send to each instance over the engines and switches that split the flows of its NF. */
export class SplitMeter {
  private readonly sources = new Map<string, Newest>();
  private instanceAt: { plan: Plan | null; hops: ReadonlyMap<number, string>; nfs: ReadonlyMap<string, string> } = {
    plan: null,
    hops: new Map(),
    nfs: new Map(),
  };

  /** `plan`: the running one, which tells where hops lead. */
  take(
    source: string,
    { epoch, clock_ms, splits }: SplitCounters,
    origin: Origin,
    plan: Plan | null,
    nowMs: number,
  ): void {
    this.follow(plan);
    const before = this.sources.get(source);
    const past = before?.epoch === epoch ? before : null;
    if (past && clock_ms <= past.clock_ms) return;
    const growth = new Growth(past, clock_ms);
    const layout = new SplitLayout(splits);
    const renamed = past ? layout.renamedSince(past.layout) : NONE;
    const instances = new Map<string, Rates>();
    const nfs = new Map<string, NfRates>();
    for (const split of splits) {
      const name = splitName(split);
      const rate = (counter: string, count: Figure) => growth.perSecond(`${name} ${counter}`, count, renamed.has(name));
      const untracked_pps = rate('untracked', split.untracked);
      const displaced_per_s = rate('displaced', split.displaced);
      let nf: string | undefined;
      for (const { to, packets, flows, exceptions } of split.targets) {
        const pps = rate(targetName(to), packets);
        const id = this.instanceOf(to);
        const of = id === undefined ? undefined : this.instanceAt.nfs.get(id);
        if (id === undefined || of === undefined) continue;
        nf = of;
        const sum = instances.get(id);
        instances.set(id, {
          pps: sum ? plus(sum.pps, pps) : pps,
          flows: (sum?.flows ?? 0) + flows,
          exceptions: (sum?.exceptions ?? 0) + exceptions,
        });
      }
      if (nf === undefined) continue;
      const sum = nfs.get(nf);
      nfs.set(nf, {
        untracked_pps: sum ? plus(sum.untracked_pps, untracked_pps) : untracked_pps,
        displaced_per_s: sum ? plus(sum.displaced_per_s, displaced_per_s) : displaced_per_s,
      });
    }
    this.sources.set(source, { epoch, clock_ms, counts: growth.counts, layout, origin, tMs: nowMs, instances, nfs });
  }

  /** Sums of the recent reports; of a figure that one of them does not know there is none. */
  now(nowMs: number): Pick<Sample, 'key' | 'value' | 'origin'>[] {
    const sums = new Map<string, { value: Figure; origin: Origin }>();
    const add = (key: string, value: Figure, origin: Origin) => {
      const sum = sums.get(key);
      sums.set(key, { value: sum ? plus(sum.value, value) : value, origin });
    };
    for (const [source, { tMs, instances, nfs, origin }] of this.sources) {
      if (nowMs - tMs > STALE_MS) {
        this.sources.delete(source);
        continue;
      }
      for (const [id, { pps, flows, exceptions }] of instances) {
        add(sampleKey('instance', id, 'split_pps'), pps, origin);
        add(sampleKey('instance', id, 'flows'), flows, origin);
        add(sampleKey('instance', id, 'exceptions'), exceptions, origin);
      }
      for (const [nf, { untracked_pps, displaced_per_s }] of nfs) {
        add(sampleKey('nf', nf, 'untracked_pps'), untracked_pps, origin);
        add(sampleKey('nf', nf, 'displaced_per_s'), displaced_per_s, origin);
      }
    }
    return [...sums].flatMap(([key, { value, origin }]) => (value === null ? [] : [{ key, value, origin }]));
  }

  private instanceOf(to: Target): string | undefined {
    if (to.kind === 'instance') return to.instance_id;
    return to.kind === 'hop' ? this.instanceAt.hops.get(to.hop) : undefined;
  }

  private follow(plan: Plan | null): void {
    if (plan === this.instanceAt.plan) return;
    const { nodes = [], edges = [] } = plan?.graph ?? {};
    this.instanceAt = {
      plan,
      hops: new Map(edges.flatMap(({ hop, to }) => (hop === null ? [] : [[hop, to] as const]))),
      nfs: new Map(nodes.flatMap((node) => (node.kind === 'nf' ? [[node.id, node.pgraph_node] as const] : []))),
    };
  }
}

/** How counters of one source have grown since its report before. */
class Growth {
  readonly counts = new Map<string, Figure>();
  private readonly seconds: number;

  constructor(
    private readonly past: Pick<Newest, 'counts' | 'clock_ms'> | null,
    clockMs: number,
  ) {
    this.seconds = past ? (clockMs - past.clock_ms) / 1000 : 0;
  }

  /**
   * What was not in the report before has come since, and counts from zero. A count that fell says nothing: a switch counts
   * flows that it keeps by entries that end with them. Null in the first report of an epoch, too, and where the counter
   * `isRenamed`: it may have counted something else before.
   */
  perSecond(name: string, now: Figure, isRenamed: boolean): Figure {
    this.counts.set(name, now);
    if (!this.past || now === null || isRenamed) return null;
    const then = this.past.counts.get(name);
    if (then === undefined) return now / this.seconds;
    return then === null || now < then ? null : (now - then) / this.seconds;
  }
}

function plus(a: Figure, b: Figure): Figure {
  return a === null || b === null ? null : a + b;
}
