import type { Infrastructure } from '@orrery/contract';
import type { PathTrouble } from '../../ports/data-path.js';
import type { Break } from './breaks.js';
import { causeOf, type DownLinks, isDown } from './down-links.js';
import { type Loss, lasts } from './loss.js';

/** A trouble, and what it is of: a host that is cut off, packets that do not arrive, or a share of them. */
export interface Trouble extends PathTrouble {
  readonly kind: 'host' | 'break' | 'loss';
}

/** What was found about the packets of one chain. */
export interface Findings {
  readonly breaks: readonly Break[];
  /** Of hosts that links which are down cut off. */
  readonly cutOff: readonly PathTrouble[];
  readonly loss: Loss | null;
  /** Packets have left the chain since they are lost, or while the last ones entered. */
  readonly delivers: boolean;
  /** NFs that take packets and pass none on, by their labels. */
  readonly stuck: readonly string[];
}

/** What is wrong with a chain, one line for each cause. `nowMs`: monotonic clock. */
export function troublesOf(
  { breaks, cutOff, loss, delivers, stuck }: Findings,
  down: DownLinks,
  infrastructure: Infrastructure,
  nowMs: number,
): readonly Trouble[] {
  const hosts = cutOff.map((each): Trouble => ({ kind: 'host', ...each }));
  const isTotal = !delivers;
  const ofPackets = placesOf(breaks).map((each): Trouble => {
    const link = causeOf(each.section, down, infrastructure);
    return { kind: 'break', what: link ? linkText(link, isTotal) : placeText(each, stuck), isTotal, link };
  });
  if (ofPackets.length > 0) return [...hosts, ...new Map(ofPackets.map((each) => [each.what, each])).values()];
  if (loss === null || !lasts(loss, nowMs)) return hosts;
  const what = `${Math.round(100 * loss.share)} % of the packets that enter are lost`;
  return [...hosts, { kind: 'loss', what, isTotal: false, link: null }];
}

/** The breaks that say where packets are lost: of hops, where there are any, rather than of the whole chain. */
export function placesOf(breaks: readonly Break[]): readonly Break[] {
  const ofHops = breaks.filter(({ section }) => !section.isWhole);
  return ofHops.length > 0 ? ofHops : breaks;
}

function linkText(link: DownLinks[number], isTotal: boolean): string {
  return `${isDown(link)}: ${isTotal ? 'this chain loses everything' : 'this chain loses part of its packets'}`;
}

function placeText(of: Break, stuck: readonly string[]): string {
  return of.section.isWhole ? wholeText(stuck) : hopText(of);
}

function hopText({ section: { from, to } }: Break): string {
  return `no packet from ${from.label} arrives at ${to.label}`;
}

function wholeText(stuck: readonly string[]): string {
  return stuck.length > 0 ? `no packet leaves ${stuck.join(' or ')}` : 'packets enter this chain and none leaves it';
}
