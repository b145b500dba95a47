import type { Infrastructure } from '@orrery/contract';
import type { PathTrouble } from '../../ports/data-path.js';
import type { Break } from './breaks.js';
import { causeOf, type DownLinks } from './down-links.js';
import { type Loss, lasts } from './loss.js';

/** What was found about the packets of one chain. */
export interface Findings {
  readonly breaks: readonly Break[];
  /** Of hosts that links which are down cut off. */
  readonly cutOff: readonly PathTrouble[];
  readonly loss: Loss | null;
  /** Packets have left the chain within the last second or so. */
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
): readonly PathTrouble[] {
  const isTotal = !delivers;
  const ofHops = breaks.filter(({ section }) => !section.isWhole);
  const words = (ofHops.length > 0 ? ofHops : breaks).map((each) => {
    const link = causeOf(each.section, down, infrastructure);
    if (link) return `${link}: ${isTotal ? 'this chain loses everything' : 'this chain loses part of its packets'}`;
    return each.section.isWhole ? wholeText(stuck) : hopText(each);
  });
  const ofPackets = [...new Set(words)].map((what) => ({ what, isTotal }));
  const isLossy = loss !== null && lasts(loss, nowMs) && ofPackets.length === 0;
  const lossy = isLossy
    ? [{ what: `${Math.round(100 * loss.share)} % of the packets that enter are lost`, isTotal: false }]
    : [];
  return [...cutOff, ...ofPackets, ...lossy];
}

function hopText({ section: { from, to } }: Break): string {
  return `no packet from ${from.label} arrives at ${to.label}`;
}

function wholeText(stuck: readonly string[]): string {
  return stuck.length > 0 ? `no packet leaves ${stuck.join(' or ')}` : 'packets enter this chain and none leaves it';
}
