import type { Infrastructure } from '@orrery/contract';
import type { PathTrouble } from '../../ports/data-path.js';
import type { Break } from './breaks.js';
import { causeOf, type DownLinks, isDown, lostOn } from './down-links.js';
import { type Loss, lasts } from './loss.js';
import type { Section } from './sections.js';

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
  /** NFs that take packets and pass none on. */
  readonly stuck: readonly { readonly id: string; readonly label: string }[];
}

/** What is wrong with a chain, one line for each cause. `lost`: switches that pass no packets. `nowMs`: monotonic clock. */
export function troublesOf(
  { breaks, cutOff, loss, delivers, stuck }: Findings,
  { down, lost }: { readonly down: DownLinks; readonly lost: ReadonlySet<string> },
  infrastructure: Infrastructure,
  nowMs: number,
): readonly Trouble[] {
  const hosts = cutOff.map((each): Trouble => ({ kind: 'host', ...each }));
  const isTotal = !delivers;
  const ofPackets = placesOf(breaks).map((each): Trouble => {
    const link = causeOf(each.section, down, infrastructure);
    const at = link ? null : lostOn(each.section, lost, infrastructure);
    const what = link ? linkText(link, isTotal) : at === null ? placeText(each, stuck) : switchText(at, isTotal);
    return { kind: 'break', what, isTotal, link };
  });
  if (ofPackets.length > 0) return [...hosts, ...new Map(ofPackets.map((each) => [each.what, each])).values()];
  if (loss === null || !lasts(loss, nowMs)) return hosts;
  const share = `${Math.round(100 * loss.share)} % of the packets that enter are lost`;
  const what = loss.place === null ? share : `${share}: ${loss.place.what}`;
  return [...hosts, { kind: 'loss', what, isTotal: false, link: null }];
}

const WIDTH: Readonly<Record<Section['scope'], number>> = { hop: 0, step: 1, chain: 2 };

/** The breaks that say where packets are lost: of hops, where there are any, rather than of the step or chain around them. */
export function placesOf(breaks: readonly Break[]): readonly Break[] {
  const explains = (inner: Section, outer: Section) =>
    outer.scope === 'chain'
      ? inner.scope !== 'chain'
      : inner !== outer && WIDTH[inner.scope] <= WIDTH[outer.scope] && isWithin(inner, outer);
  return breaks.filter(({ section }) => !breaks.some((other) => explains(other.section, section)));
}

function isWithin(inner: Section, outer: Section): boolean {
  return inner.nodes.length < outer.nodes.length && inner.nodes.every((id) => outer.nodes.includes(id));
}

function linkText(link: DownLinks[number], isTotal: boolean): string {
  return `${isDown(link)}: ${effect(isTotal)}`;
}

function switchText(id: string, isTotal: boolean): string {
  return `${id} passes no packets, and no other way leads around it: ${effect(isTotal)}`;
}

function effect(isTotal: boolean): string {
  return isTotal ? 'this chain loses everything' : 'this chain loses part of its packets';
}

function placeText({ section }: Break, stuck: Findings['stuck']): string {
  const { scope, from, to, nodes } = section;
  if (scope === 'hop') return `no packet from ${from.label} arrives at ${to.label}`;
  const inside = stuck.flatMap(({ id, label }) => (nodes.includes(id) ? [label] : []));
  if (inside.length > 0) return `no packet leaves ${inside.join(' or ')}`;
  return scope === 'step'
    ? `copies from ${from.label} do not arrive at ${to.label}`
    : 'packets enter this chain and none leaves it';
}
