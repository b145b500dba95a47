import { type Origin, type Plan, type Sample, type SplitSample, sampleKey } from '@orrery/contract';

/** Figures without a report for this long no longer count. */
const STALE_MS = 1500;

/** A set of counters of one source: they count on within an epoch. */
export interface SplitCounters {
  readonly epoch: string;
  readonly clock_ms: number;
  readonly splits: readonly SplitSample[];
}

interface Rates {
  readonly pps: number;
  readonly flows: number;
  readonly exceptions: number;
}

interface Newest {
  readonly counters: SplitCounters;
  readonly origin: Origin;
  readonly tMs: number;
  /** By instance. */
  readonly instances: ReadonlyMap<string, Rates>;
  /** By NF, `<chain>.<node>`. */
  readonly nfs: ReadonlyMap<string, { untracked_pps: number; displaced_per_s: number }>;
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
  take(source: string, counters: SplitCounters, origin: Origin, plan: Plan | null, nowMs: number): void {
    this.follow(plan);
    const before = this.sources.get(source);
    const past = before?.counters.epoch === counters.epoch ? before.counters : null;
    if (past && counters.clock_ms <= past.clock_ms) return;
    const seconds = past ? (counters.clock_ms - past.clock_ms) / 1000 : null;
    const instances = new Map<string, Rates>();
    const nfs = new Map<string, { untracked_pps: number; displaced_per_s: number }>();
    for (const split of counters.splits) {
      const former = past?.splits.find((it) => it.from_id === split.from_id && it.edge_id === split.edge_id);
      const perSecond = (now: number, then: number | undefined) =>
        seconds === null || then === undefined || now < then ? 0 : (now - then) / seconds;
      let nf: string | undefined;
      split.targets.forEach(({ to, packets, flows, exceptions }) => {
        const id =
          to.kind === 'instance' ? to.instance_id : to.kind === 'hop' ? this.instanceAt.hops.get(to.hop) : null;
        const of = id ? this.instanceAt.nfs.get(id) : undefined;
        if (!id || of === undefined) return;
        nf = of;
        const then = former?.targets.find((it) => JSON.stringify(it.to) === JSON.stringify(to))?.packets;
        const sum = instances.get(id) ?? { pps: 0, flows: 0, exceptions: 0 };
        instances.set(id, {
          pps: sum.pps + perSecond(packets, then),
          flows: sum.flows + flows,
          exceptions: sum.exceptions + exceptions,
        });
      });
      if (nf === undefined) continue;
      const sum = nfs.get(nf) ?? { untracked_pps: 0, displaced_per_s: 0 };
      nfs.set(nf, {
        untracked_pps: sum.untracked_pps + perSecond(split.untracked, former?.untracked),
        displaced_per_s: sum.displaced_per_s + perSecond(split.displaced, former?.displaced),
      });
    }
    this.sources.set(source, { counters, origin, tMs: nowMs, instances, nfs });
  }

  /** Sums of the recent reports. */
  now(nowMs: number): Pick<Sample, 'key' | 'value' | 'origin'>[] {
    const sums = new Map<string, { value: number; origin: Origin }>();
    const add = (key: string, value: number, origin: Origin) =>
      sums.set(key, { value: (sums.get(key)?.value ?? 0) + value, origin });
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
    return [...sums].map(([key, sum]) => ({ key, ...sum }));
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
