import type { GraphNode, InstanceSample, ModuleSample, Plan } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { type DropFate, fateOf, QUEUE_FULL } from './drop-fates.js';
import { type Step, stepsOf } from './steps.js';
import { Tally } from './tally.js';

/** Drops are read no more often, and known this much later: agents report five times a second, each at its own time. */
export const READ_MS = 200;
/** More reasons of one node are not told apart. */
const MOST_REASONS = 64;

/** Counters of what runs, since it started. */
export interface DropCounters {
  readonly instances: readonly Pick<InstanceSample, 'instance_id' | 'drops'>[];
  readonly modules: readonly Pick<ModuleSample, 'module_id' | 'drops'>[];
}

interface NodeDrops {
  readonly node: GraphNode;
  /** At the last reading; null: not read yet. */
  seen: { readonly drops: Readonly<Record<string, number>>; readonly atMs: number } | null;
  readonly byReason: Map<string, Tally>;
}

/** Packets that a node lost, and the reason of most of them. */
export interface LostAt {
  readonly node: GraphNode;
  readonly packets: number;
  readonly reason: string;
}

/** What the NFs, mirrors, merges and queues of each chain drop, and what that means. Times are of one clock. */
export class DropMeter {
  private plan: Plan | null = null;
  private nodes: ReadonlyMap<string, NodeDrops> = new Map();
  private ofChain: ReadonlyMap<string, readonly NodeDrops[]> = new Map();
  private steps: ReadonlyMap<string, Step> = new Map();
  private uncounted: ReadonlySet<string> = new Set();
  private readMs = Number.NEGATIVE_INFINITY;

  /** `refusesOf`: see `refusalsOf`. */
  constructor(private readonly refusesOf: (nf: string) => readonly string[] | null) {}

  /** Counts of nodes that are not in the plan are forgotten. */
  follow(plan: Plan | null): void {
    if (plan === this.plan) return;
    this.plan = plan;
    const graph = plan?.graph ?? { nodes: [], edges: [] };
    this.nodes = new Map(
      graph.nodes.map((node) => {
        const { seen = null, byReason = new Map<string, Tally>() } = this.nodes.get(node.id) ?? {};
        return [node.id, { node, seen, byReason }];
      }),
    );
    this.ofChain = grouped([...this.nodes.values()], ({ node }) => node.chain_id);
    this.steps = stepsOf(graph);
    const unsaid = graph.nodes.filter((node) => node.kind === 'nf' && this.refusesOf(node.nf) === null);
    this.uncounted = new Set(unsaid.map(({ chain_id }) => chain_id));
  }

  /** Whether every NF of the chain counts what it drops on purpose: otherwise what is missing behind it may be lost or not. */
  countsRefusals(chainId: string): boolean {
    return !this.uncounted.has(chainId);
  }

  /**
   * Reads what was dropped since the start; returns packets refused per second, by chain and by merge of a parallel step. Null:
   * it was read less than `READ_MS` ago. The next reading has what this one would have had.
   */
  take(counters: () => DropCounters, nowMs: number): ReadonlyMap<string, number> | null {
    if (nowMs - this.readMs < READ_MS) return null;
    const fromMs = this.readMs;
    this.readMs = nowMs;
    const { instances, modules } = counters();
    const byNode = new Map([
      ...instances.map(({ instance_id, drops }) => [instance_id, drops] as const),
      ...modules.map(({ module_id, drops }) => [module_id, drops] as const),
    ]);
    for (const [id, drops] of byNode) this.read(id, drops, nowMs);
    // What is no longer reported, and comes back, counts from then on.
    for (const each of this.nodes.values()) if (each.seen && each.seen.atMs !== nowMs) each.seen = null;
    const seconds = (nowMs - fromMs) / 1000;
    const refusedIn = (ids: readonly string[]) =>
      ids.reduce((sum, id) => sum + this.dropped(id, 'refused', fromMs, nowMs), 0) / seconds;
    return new Map([
      ...[...this.ofChain].map(([id, own]) => [id, refusedIn(own.map(({ node }) => node.id))] as const),
      ...[...this.steps].map(([id, { nfs }]) => [id, refusedIn(nfs.map((nf) => nf.id))] as const),
    ]);
  }

  /** Packets of a chain that NFs refused between two times; one that several branches of a parallel step refused counts once. */
  refused(chainId: string, fromMs: number, toMs: number): number {
    const outermost = [...this.steps.values()].filter(
      ({ merge }) => merge.chain_id === chainId && merge.within === null,
    );
    const inStep = new Set(outermost.flatMap(({ nfs }) => nfs.map(({ id }) => id)));
    const outside = (this.ofChain.get(chainId) ?? []).filter(({ node }) => !inStep.has(node.id));
    const alone = outside.reduce((sum, { node }) => sum + this.dropped(node.id, 'refused', fromMs, toMs), 0);
    return outermost.reduce((sum, step) => sum + this.refusedIn(step, fromMs, toMs), alone);
  }

  /** Nodes of a chain at which packets were lost between two times, the most first. */
  lost(chainId: string, fromMs: number, toMs: number): LostAt[] {
    return this.droppedAs('lost', chainId, fromMs, toMs);
  }

  /**
   * Packets of a chain that were lost between two times. Of a parallel step, in which several copies of one packet may be lost:
   * those that its merge gave up, or that its mirror or one of its NFs lost, whichever is most.
   */
  lostPackets(chainId: string, fromMs: number, toMs: number): number {
    const outermost = [...this.steps.values()].filter(
      ({ merge }) => merge.chain_id === chainId && merge.within === null,
    );
    const inStep = new Set(
      [...this.steps.values()].flatMap(({ mirror, merge, nfs }) => [mirror, merge, ...nfs].map(({ id }) => id)),
    );
    const of = (id: string, fate: DropFate) => this.dropped(id, fate, fromMs, toMs);
    const outside = (this.ofChain.get(chainId) ?? []).filter(({ node }) => !inStep.has(node.id));
    const alone = outside.reduce((all, { node }) => all + of(node.id, 'lost'), 0);
    return outermost.reduce((all, { mirror, merge, nfs }) => {
      const given = of(merge.id, 'missing') + of(merge.id, 'lost');
      return all + Math.max(given, ...[mirror, ...nfs].map(({ id }) => of(id, 'lost')));
    }, alone);
  }

  /** Merges of a chain that gave up packets between two times because a copy did not arrive, the most first. */
  missing(chainId: string, fromMs: number, toMs: number): LostAt[] {
    return this.droppedAs('missing', chainId, fromMs, toMs);
  }

  private read(id: string, drops: Readonly<Record<string, number>>, nowMs: number): void {
    const of = this.nodes.get(id);
    if (!of) return;
    const { seen, byReason } = of;
    of.seen = { drops, atMs: nowMs };
    if (!seen) return;
    for (const [reason, count] of Object.entries(drops)) {
      const past = seen.drops[reason] ?? 0;
      // A lower count is that of a new instance, which counts from zero.
      const packets = count < past ? count : count - past;
      let tally = byReason.get(reason);
      if (packets === 0 && !tally) continue;
      if (!tally) {
        if (byReason.size >= MOST_REASONS) continue;
        tally = new Tally();
        byReason.set(reason, tally);
      }
      tally.add(packets, seen.atMs, nowMs);
    }
  }

  private dropped(id: string, fate: DropFate, fromMs: number, toMs: number, unless?: string): number {
    const { node, byReason } = this.nodes.get(id)!;
    return [...byReason].reduce(
      (sum, [reason, tally]) =>
        reason !== unless && fateOf(node, reason, this.refusesOf) === fate ? sum + tally.between(fromMs, toMs) : sum,
      0,
    );
  }

  private droppedAs(fate: DropFate, chainId: string, fromMs: number, toMs: number): LostAt[] {
    const found = (this.ofChain.get(chainId) ?? []).flatMap(({ node, byReason }): LostAt[] => {
      const reasons = [...byReason]
        .filter(([reason]) => fateOf(node, reason, this.refusesOf) === fate)
        .map(([reason, tally]) => ({ reason, packets: tally.between(fromMs, toMs) }))
        .sort((a, b) => b.packets - a.packets);
      const packets = reasons.reduce((sum, each) => sum + each.packets, 0);
      return packets > 0 ? [{ node, packets, reason: reasons[0]!.reason }] : [];
    });
    return found.sort((a, b) => b.packets - a.packets);
  }

  /**
   * Packets that at least one branch refused. The merge counts each once that it heard of, together with those that a branch lost
   * and announced; they lie between the most that one NF refused and what all refused together.
   */
  private refusedIn({ merge, nfs, inner, announcing }: Step, fromMs: number, toMs: number): number {
    const of = (id: string, fate: DropFate, unless?: string) => this.dropped(id, fate, fromMs, toMs, unless);
    const each = nfs.map(({ id }) => ({ id, packets: of(id, 'refused') }));
    const all = sum(each);
    const most = Math.max(0, ...each.map(({ packets }) => packets));
    if (most === all) return all;
    const lost = nfs.map(({ id }) => ({ packets: announcing.has(id) ? of(id, 'lost', QUEUE_FULL) : 0 }));
    const given = inner.map(({ id }) => ({ packets: of(id, 'lost') + of(id, 'missing') }));
    const unheard = sum(each.filter(({ id }) => !announcing.has(id)));
    const heard = of(merge.id, 'announced') - sum(lost) - sum(given) + Math.min(unheard, of(merge.id, 'missing'));
    return Math.min(all, Math.max(most, heard));
  }
}

function sum(parts: readonly { readonly packets: number }[]): number {
  return parts.reduce((all, { packets }) => all + packets, 0);
}
