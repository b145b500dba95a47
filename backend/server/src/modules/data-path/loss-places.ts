import { SLOT_DROPS } from '@orrery/contract';
import { QUEUE_FULL } from './drop-fates.js';
import type { DropMeter, LostAt } from './drop-meter.js';
import { LONG_S, type LossPlace } from './loss.js';
import type { PacketMeter } from './packet-meter.js';
import { type CountingNode, labelOf, type Section } from './sections.js';

/** A place that loses less than this share of what a chain loses does not explain the loss. */
const LEAST_SHARE = 0.5;
/** Counters of switches, which report every second, are waited for. */
const LATEST_MS = 2000;

interface Candidate extends LossPlace {
  readonly packets: number;
}

/** What the places of a chain are found by. */
interface Parts {
  readonly chainId: string;
  readonly sections: readonly Section[];
  readonly nodes: readonly CountingNode[];
  readonly whyFull: (queue: string) => string;
}

/** Finds where a chain loses a part of its packets: at a node that counts them, or between two places. */
export class LossPlaces {
  constructor(
    private readonly meter: PacketMeter,
    private readonly drops: DropMeter,
  ) {}

  /**
   * The place where most of the packets are lost that the chain lost over the last `LONG_S` seconds; the one before as long as it
   * explains the loss, too. What a merge misses is only told where no other place explains it.
   */
  of(chain: Parts, lostPackets: number, before: LossPlace | null, nowMs: number): LossPlace | null {
    const [fromMs, toMs] = [nowMs - 1000 * LONG_S, nowMs];
    const lost = this.drops.lost(chain.chainId, fromMs, toMs);
    const atNodes = lost.map((each) => nodePlace(each, chain));
    const found =
      chosen([...atNodes, ...this.hops(chain, lost, nowMs)], lostPackets, before) ??
      chosen(
        this.drops.missing(chain.chainId, fromMs, toMs).map((each) => mergePlace(each, chain)),
        lostPackets,
        before,
      );
    return found && { id: found.id, what: found.what };
  }

  /** Hops on which packets are lost. Those that lead to the same node count together: it cannot tell their packets apart. */
  private hops({ sections }: Parts, lost: readonly LostAt[], nowMs: number): Candidate[] {
    const hops = sections.filter(({ scope }) => scope === 'hop');
    return joined(hops).flatMap((group) => {
      const passes = [...new Set(group.flatMap(({ from }) => from.passes))];
      const receives = [...new Set(group.flatMap(({ to }) => to.receives))];
      const reported = [...passes, ...receives].map((key) => this.meter.untilMs(key));
      const toMs = Math.min(nowMs, ...reported.filter((atMs) => nowMs - atMs < LATEST_MS));
      const over = (keys: readonly string[]) =>
        keys.reduce((sum, key) => sum + this.meter.between(key, toMs - 1000 * LONG_S, toMs), 0);
      // What a mirror cannot copy it takes and does not pass on.
      const uncopied = lost.filter(
        ({ node }) => node.kind === 'mirror' && group.some(({ nodes }) => nodes[0] === node.id),
      );
      const packets = over(passes) - over(receives) - uncopied.reduce((sum, each) => sum + each.packets, 0);
      if (packets <= 0) return [];
      const named = (labels: readonly string[]) => [...new Set(labels)].join(' or ');
      const from = named(group.map((hop) => hop.from.label));
      const to = named(group.map((hop) => hop.to.label));
      const id = [...new Set(group.flatMap(({ nodes }) => nodes))].join(' ');
      return [{ id, what: `between ${from} and ${to}`, packets }];
    });
  }
}

function nodePlace({ node, packets, reason }: LostAt, { whyFull }: Parts): Candidate {
  const { id } = node;
  if (node.kind === 'queue' && reason === QUEUE_FULL)
    return { id, what: `queue ${id} is full: ${whyFull(id)}`, packets };
  if (reason === QUEUE_FULL) return { id, what: `the queue of ${labelOf(node)} is full`, packets };
  if (reason === SLOT_DROPS.noHop)
    return { id, what: `the slot of ${labelOf(node)} has no next hop for packets`, packets };
  return { id, what: `${labelOf(node)} drops packets (${reason})`, packets };
}

function mergePlace({ node, packets, reason }: LostAt, { sections }: Parts): Candidate {
  const step = sections.find(({ scope, nodes }) => scope === 'step' && nodes.at(-1) === node.id);
  const what =
    reason === 'table_full'
      ? `${labelOf(node)} has no room for all packets that wait for copies`
      : `copies from ${step?.from.label ?? 'its branches'} do not all arrive at ${labelOf(node)}`;
  return { id: node.id, what, packets };
}

function chosen(places: readonly Candidate[], lostPackets: number, before: LossPlace | null): Candidate | null {
  const explaining = places.filter(({ packets }) => packets >= LEAST_SHARE * lostPackets);
  const [most] = explaining.sort((a, b) => b.packets - a.packets);
  return explaining.find(({ id }) => id === before?.id) ?? most ?? null;
}

/** Hops by what receives their packets. */
function joined(hops: readonly Section[]): Section[][] {
  const groups: { readonly hops: Section[]; readonly keys: Set<string> }[] = [];
  for (const hop of hops) {
    const same = groups.filter(({ keys }) => hop.to.receives.some((key) => keys.has(key)));
    const merged = { hops: [...same.flatMap((group) => group.hops), hop], keys: new Set(hop.to.receives) };
    for (const group of same) {
      for (const key of group.keys) merged.keys.add(key);
      groups.splice(groups.indexOf(group), 1);
    }
    groups.push(merged);
  }
  return groups.map((group) => group.hops);
}
