/** A chain goes unjudged for the time of so many warm-ups at most, … */
const MOST_WARM_UPS = 3;
/** … in the time of so many: for 30 s in any five minutes, where one takes ten seconds. */
const PERIOD_WARM_UPS = 30;
/** A verdict does not stand for the time before. */
const LONGEST_TICK_MS = 2000;

/** `spent`: what runs is new, but the chain is judged all the same, since it has changed too often. */
export type WarmUp = 'over' | 'on' | 'spent';

/** Why a chain is judged whose warm-up is spent. */
export const WHY_SPENT = 'it is given no more time to warm up: it changes too often';

interface Chain {
  /** In which it was not judged, in order, by the monotonic clock. */
  spans: { readonly fromMs: number; toMs: number }[];
  lookedMs: number | null;
  /** Until what runs is no longer new. */
  isSpent: boolean;
}

/** For how long chains went unjudged because what runs was new: one that changes all the time is not to go unjudged for good. */
export class WarmUps {
  private readonly chains = new Map<string, Chain>();

  constructor(private readonly warmUpMs: number) {}

  /** `steady_s`: for how long what runs has carried packets; null: nothing was measured. Before each evaluation. */
  of(chainId: string, steady_s: number | null, nowMs: number): WarmUp {
    const chain = this.chains.get(chainId) ?? { spans: [], lookedMs: null, isSpent: false };
    this.chains.set(chainId, chain);
    if (steady_s === null || 1000 * steady_s >= this.warmUpMs) {
      chain.isSpent = false;
      return 'over';
    }
    const sinceMs = nowMs - PERIOD_WARM_UPS * this.warmUpMs;
    chain.spans = chain.spans.filter(({ toMs }) => toMs > sinceMs);
    const unjudgedMs = chain.spans.reduce((sum, { fromMs, toMs }) => sum + toMs - Math.max(fromMs, sinceMs), 0);
    chain.isSpent ||= unjudgedMs + tickOf(chain, nowMs) > MOST_WARM_UPS * this.warmUpMs;
    return chain.isSpent ? 'spent' : 'on';
  }

  /** After each evaluation: whether an objective of the chain was not judged because it warms up. */
  looked(chainId: string, isUnjudged: boolean, nowMs: number): void {
    const chain = this.chains.get(chainId);
    if (!chain) return;
    const fromMs = nowMs - tickOf(chain, nowMs);
    chain.lookedMs = nowMs;
    if (!isUnjudged) return;
    const last = chain.spans.at(-1);
    if (last?.toMs === fromMs) last.toMs = nowMs;
    else chain.spans.push({ fromMs, toMs: nowMs });
  }

  /** Forgets chains that were not looked at for so long that nothing counts any more. */
  forget(nowMs: number): void {
    for (const [id, { lookedMs }] of this.chains)
      if (nowMs - (lookedMs ?? nowMs) > PERIOD_WARM_UPS * this.warmUpMs) this.chains.delete(id);
  }
}

/** The time for which an evaluation stands. */
function tickOf({ lookedMs }: Chain, nowMs: number): number {
  return lookedMs === null ? 0 : Math.min(LONGEST_TICK_MS, nowMs - lookedMs);
}
