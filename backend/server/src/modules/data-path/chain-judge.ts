import type { Infrastructure } from '@orrery/contract';
import type { PathTrouble } from '../../ports/data-path.js';
import { type Break, breakIn, isOver, LOOKBACK_MS, REPORT_LAG_MS } from './breaks.js';
import type { CarriageMeter } from './carriage.js';
import type { DownLinks } from './down-links.js';
import { LONG_S, type Loss, lasts, lossOf, SHORT_S } from './loss.js';
import { LossPlaces } from './loss-places.js';
import type { PacketMeter } from './packet-meter.js';
import { type CountingNode, labelOf, passedKey, type Section, takenKey } from './sections.js';
import { placesOf, troublesOf } from './troubles.js';
import { NOTHING_TOLD, type Told, toldNext } from './wording.js';

/** A chain of which none of so many packets has left loses everything. */
const MANY_PACKETS = 20;
/** Times in which so many packets may enter; at few packets per second the longest one. Exits report five times a second. */
const WINDOWS_MS = [1500, 2500, 5000, LOOKBACK_MS] as const;

/** What a chain consists of. */
interface ChainParts {
  readonly chainId: string;
  readonly sections: readonly Section[];
  /** What counts packets: NFs, mirrors, merges, queues. */
  readonly nodes: readonly CountingNode[];
  /** Why a queue of a planned schedule is full. */
  readonly whyFull: (queue: string) => string;
}

/** What is known of links and agents now. */
export interface Surroundings {
  readonly infrastructure: Infrastructure;
  readonly down: DownLinks;
  /** Switches that pass no packets. */
  readonly lost: ReadonlySet<string>;
  readonly cutOff: readonly PathTrouble[];
  /** Whether the agents of the servers have reported for long enough. */
  readonly areHeard: (servers: readonly string[]) => boolean;
}

/** What was found about a chain, and what is told of it. */
export interface Judgement {
  readonly breaks: readonly Break[];
  readonly loss: Loss | null;
  readonly told: Told;
}

const UNJUDGED: Judgement = { breaks: [], loss: null, told: NOTHING_TOLD };

/** Judges chains by what two meters have counted. Times are of one monotonic clock. */
export class ChainJudge {
  private readonly places: LossPlaces;

  constructor(
    private readonly meter: PacketMeter,
    private readonly carriageMeter: CarriageMeter,
  ) {
    this.places = new LossPlaces(meter, carriageMeter.drops);
  }

  /** `before`: the last judgement of this chain; undefined: none. */
  judge(chain: ChainParts, { breaks, loss, told }: Judgement = UNJUDGED, now: Surroundings, nowMs: number): Judgement {
    const found = this.breaksIn(chain, breaks, now, nowMs);
    const share = this.lossOf(chain, found, loss, now, nowMs);
    const findings = {
      breaks: found,
      cutOff: now.cutOff,
      loss: share,
      delivers: this.delivers(chain, found, nowMs),
      stuck: this.stuckIn(chain, found, nowMs),
    };
    const troubles = troublesOf(findings, now, now.infrastructure, nowMs);
    return { breaks: found, loss: share, told: toldNext(told, troubles, nowMs) };
  }

  private breaksIn({ sections }: ChainParts, before: readonly Break[], { areHeard }: Surroundings, nowMs: number) {
    return sections.flatMap((section): Break[] => {
      // What the agent of a server does not report may arrive all the same: that it is away is told by the deployment.
      if (!areHeard(section.to.servers)) return [];
      const last = before.find((each) => each.section === section);
      const found = breakIn(section, this.meter, nowMs);
      if (found) return [{ ...found, sinceMs: last?.sinceMs ?? found.sinceMs }];
      return last && !isOver(last, this.meter, nowMs) ? [last] : [];
    });
  }

  private lossOf(
    chain: ChainParts,
    breaks: readonly Break[],
    before: Loss | null,
    { areHeard }: Surroundings,
    nowMs: number,
  ): Loss | null {
    const { chainId, sections } = chain;
    if (!sections.every(({ to }) => areHeard(to.servers))) return null;
    // What arrives again after a break is no loss that goes on, unless it was one before.
    if (breaks.length > 0) return before && lasts(before, nowMs) ? before : null;
    const carried = (seconds: number) => this.carriageMeter.carriage(chainId, seconds, nowMs);
    const long = carried(LONG_S);
    const loss = lossOf(before, long, carried(SHORT_S), nowMs);
    if (!loss || !lasts(loss, nowMs) || !long || long === 'unknown') return loss;
    const packets = long.offered_packets * (1 - long.share);
    return { ...loss, place: this.places.of(chain, packets, loss.place, nowMs) };
  }

  /** Whether packets have left the chain since the breaks began, or while the last ones entered. */
  private delivers({ chainId }: ChainParts, breaks: readonly Break[], nowMs: number): boolean {
    const isEnough = (ms: number) => this.carriageMeter.entered(chainId, nowMs - ms, nowMs) >= MANY_PACKETS;
    const windowMs = WINDOWS_MS.find(isEnough) ?? LOOKBACK_MS;
    // What left last may not have been reported yet.
    const fromMs = Math.min(Math.max(nowMs - windowMs, lostSinceMs(breaks)), nowMs - REPORT_LAG_MS);
    return this.carriageMeter.delivers(chainId, nowMs, nowMs - fromMs);
  }

  /** NFs, queues and splits that have taken packets since none leaves the chain, and passed none on. */
  private stuckIn({ nodes }: ChainParts, breaks: readonly Break[], nowMs: number) {
    if (breaks.length === 0) return [];
    const fromMs = Math.max(nowMs - LOOKBACK_MS, lostSinceMs(breaks));
    const packets = (key: string) =>
      this.meter.reported(key, fromMs, nowMs).reduce((sum, count) => sum + count.packets, 0);
    return nodes
      .filter(({ kind }) => kind === 'nf' || kind === 'queue' || kind === 'split')
      .filter((node) => packets(takenKey(node)) > 0 && packets(passedKey(node)) === 0)
      .map((node) => ({ id: node.id, label: labelOf(node) }));
  }
}

/** When the last break began; what was under way then has been reported. */
function lostSinceMs(breaks: readonly Break[]): number {
  return Math.max(...placesOf(breaks).map(({ sinceMs }) => sinceMs)) + REPORT_LAG_MS;
}
