import { type Infrastructure, type Instance, sampleKey } from '@orrery/contract';
import type { PathTrouble } from '../../ports/data-path.js';
import { type Break, breakIn, isOver, LOOKBACK_MS, REPORT_LAG_MS } from './breaks.js';
import type { CarriageMeter } from './carriage.js';
import type { DownLinks } from './down-links.js';
import { LONG_S, type Loss, lasts, lossOf, SHORT_S } from './loss.js';
import type { PacketMeter } from './packet-meter.js';
import { labelOf, type Section } from './sections.js';
import { placesOf, troublesOf } from './troubles.js';
import { NOTHING_TOLD, type Told, toldNext } from './wording.js';

/** A chain of which none of so many packets has left loses everything. */
const MANY_PACKETS = 20;
/** Times in which so many packets may enter; at few packets per second the longest one. Exits report five times a second. */
const WINDOWS_MS = [1500, 2500, 5000, LOOKBACK_MS] as const;

/** What a chain consists of. */
export interface ChainParts {
  readonly chainId: string;
  readonly sections: readonly Section[];
  readonly nfs: readonly Instance[];
}

/** What is known of links and agents now. */
export interface Surroundings {
  readonly infrastructure: Infrastructure;
  readonly down: DownLinks;
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
  constructor(
    private readonly meter: PacketMeter,
    private readonly carriageMeter: CarriageMeter,
  ) {}

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
    const troubles = troublesOf(findings, now.down, now.infrastructure, nowMs);
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
    { chainId, sections }: ChainParts,
    breaks: readonly Break[],
    before: Loss | null,
    { areHeard }: Surroundings,
    nowMs: number,
  ): Loss | null {
    if (!sections.every(({ to }) => areHeard(to.servers))) return null;
    // What arrives again after a break is no loss that goes on, unless it was one before.
    if (breaks.length > 0) return before && lasts(before, nowMs) ? before : null;
    const carried = (seconds: number) => this.carriageMeter.carriage(chainId, seconds, nowMs);
    return lossOf(before, carried(LONG_S), carried(SHORT_S), nowMs);
  }

  /** Whether packets have left the chain since the breaks began, or while the last ones entered. */
  private delivers({ chainId }: ChainParts, breaks: readonly Break[], nowMs: number): boolean {
    const isEnough = (ms: number) => this.carriageMeter.entered(chainId, nowMs - ms, nowMs) >= MANY_PACKETS;
    const windowMs = WINDOWS_MS.find(isEnough) ?? LOOKBACK_MS;
    // What left last may not have been reported yet.
    const fromMs = Math.min(Math.max(nowMs - windowMs, lostSinceMs(breaks)), nowMs - REPORT_LAG_MS);
    return this.carriageMeter.delivers(chainId, nowMs, nowMs - fromMs);
  }

  /** NFs that have taken packets since none leaves the chain, and passed none on. */
  private stuckIn({ nfs }: ChainParts, breaks: readonly Break[], nowMs: number): string[] {
    if (breaks.length === 0) return [];
    const fromMs = Math.max(nowMs - LOOKBACK_MS, lostSinceMs(breaks));
    const packets = (key: string) =>
      this.meter.reported(key, fromMs, nowMs).reduce((sum, count) => sum + count.packets, 0);
    return nfs.filter(({ id }) => packets(takenKey(id)) > 0 && packets(passedKey(id)) === 0).map(labelOf);
  }
}

/** When the last break began; what was under way then has been reported. */
function lostSinceMs(breaks: readonly Break[]): number {
  return Math.max(...placesOf(breaks).map(({ sinceMs }) => sinceMs)) + REPORT_LAG_MS;
}

export const takenKey = (id: string) => sampleKey('instance', id, 'pps');
export const passedKey = (id: string) => sampleKey('instance', id, 'out_pps');
