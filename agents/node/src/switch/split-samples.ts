import type { FieldMatch, SplitSample, SwitchSpec } from '@orrery/contract';
import type { KeptFlow, SwitchReading } from '../drivers/switch-driver.js';

/**
 * What each split of a class sends to each of its targets: packets of new flows by the entries for its ranges, those of
 * flows in progress by the entries that the switch keeps for them. Their counts end with them, so sums may fall.
 */
export function splitSamples(
  entries: SwitchSpec['entries'],
  counts: SwitchReading['counts'],
  kept: readonly KeptFlow[],
  without_room: ReadonlyMap<number, number>,
): SplitSample[] {
  const splits = new Map<number, Split>();
  for (const [index, { table, rule_id, match, actions }] of entries.entries()) {
    const split = plainValue(match.fields.split);
    const mac = actions.find((action) => action.do === 'set-mac')?.mac;
    const flows = match.fields.flow_id;
    if (table !== 'split' || rule_id === null || split === null || mac === undefined || !flows) continue;
    const keeps = actions.some((action) => action.do === 'keep-flow');
    const of = splits.get(split) ?? { rule_id, keeps, ranges: new Ranges(), targets: new Map<string, Target>() };
    splits.set(split, of);
    of.ranges.add(flows, mac);
    const target = targetOf(of, mac);
    target.packets += counts.get(index)?.packets ?? 0;
  }
  for (const { split, flow_id, mac, packets } of kept) {
    const of = splits.get(split);
    if (!of) continue;
    const target = targetOf(of, mac);
    target.packets += packets;
    target.flows++;
    if (of.ranges.of(flow_id) !== mac) target.exceptions++;
  }
  return [...splits].map(([split, { rule_id, keeps, targets }]) => ({
    from_id: rule_id,
    edge_id: rule_id,
    tracks_flows: keeps,
    // Those that it told: an entry for a range also counts the first packets of flows that get one of their own.
    untracked: keeps ? (without_room.get(split) ?? 0) : 0,
    // A switch does not count these.
    displaced: keeps ? null : 0,
    targets: [...targets].map(([mac, figures]) => ({ to: { kind: 'hop', hop: hopOf(mac) }, ...figures })),
  }));
}

interface Target {
  packets: number;
  flows: number;
  exceptions: number;
}

interface Split {
  readonly rule_id: string;
  readonly keeps: boolean;
  readonly ranges: Ranges;
  /** By destination MAC address. */
  readonly targets: Map<string, Target>;
}

function targetOf({ targets }: Split, mac: string): Target {
  const target = targets.get(mac) ?? { packets: 0, flows: 0, exceptions: 0 };
  targets.set(mac, target);
  return target;
}

function plainValue(match: FieldMatch | undefined): number | null {
  return match && 'mask' in match ? match.value : null;
}

/** Where the ranges of a split send each flow. A switch keeps thousands of flows, so they are not compared one by one. */
class Ranges {
  /** By mask, then by value: a range is a few prefixes. */
  private readonly prefixes = new Map<number, Map<number, string>>();
  private readonly spans: { readonly lo: number; readonly hi: number; readonly mac: string }[] = [];

  add(match: FieldMatch, mac: string): void {
    if (!('mask' in match)) {
      this.spans.push({ lo: match.lo, hi: match.hi, mac });
      return;
    }
    const ofMask = this.prefixes.get(match.mask) ?? new Map<number, string>();
    this.prefixes.set(match.mask, ofMask.set(match.value, mac));
  }

  of(flow: number): string | undefined {
    for (const [mask, macs] of this.prefixes) {
      const mac = macs.get(flow & mask);
      if (mac !== undefined) return mac;
    }
    return this.spans.find(({ lo, hi }) => lo <= flow && flow <= hi)?.mac;
  }
}

/** The hop of a tag `02:0e:HH:HH:00:00`. */
function hopOf(mac: string): number {
  const [, , high, low] = mac.split(':');
  return Number.parseInt(`${high}${low}`, 16);
}
