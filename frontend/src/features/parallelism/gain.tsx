import type { Execution } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { gainOf, pointsText } from '../../shared/plan/predicted-latency.js';
import { differ, type MeasuredLatency } from './measured-latency.js';
import { useMeasuredNow } from './measured-now.js';
import type { KnownChain } from './use-chains.js';

/** Share of the median latency that running in parallel saves, as predicted; null: not known. */
export function predictedGain({ in: { sequential, parallel } }: Pick<KnownChain, 'in'>): number | null {
  return gainOf(sequential.predicted?.p50_us, parallel.predicted?.p50_us);
}

/** The same of two measured medians, one of them now; `none`: they differ by no more than noise. */
export function measuredGain(
  execution: Execution | null,
  now: MeasuredLatency | null,
  before: MeasuredLatency | null,
): number | 'none' | null {
  if (execution === null || now === null || before === null) return null;
  if (!differ(now, before)) return 'none';
  return execution === 'parallel' ? gainOf(before.p50_us, now.p50_us) : gainOf(now.p50_us, before.p50_us);
}

interface MeasuredGainProps {
  readonly chain: KnownChain;
  /** In a line of text, which names it. */
  readonly inline?: boolean;
}

/** The measured gain, and how far it is from the predicted one. */
export function MeasuredGain({ chain, inline = false }: MeasuredGainProps) {
  const { row, measuredBefore, changed_ms } = chain;
  const gain = measuredGain(row.execution, useMeasuredNow(row.id, changed_ms), measuredBefore);
  const predicted = predictedGain(chain);
  const name = inline ? 'measured ' : '';
  if (gain === null)
    return (
      <span className="muted" title="Known once the chain has run both in sequence and in parallel for some seconds.">
        {name}–
      </span>
    );
  if (gain === 'none')
    return (
      <span className="muted" title="The medians of both differ by no more than their samples spread.">
        no difference measured
      </span>
    );
  return (
    <>
      {name}
      {gainText(gain)}
      {predicted !== null && inline && `, ${pointsText(gain - predicted)}`}
      {predicted !== null && !inline && <div className="muted">{pointsText(gain - predicted)}</div>}
    </>
  );
}

/** A share that may be negative. */
export function gainText(gain: number): string {
  return `${gain < 0 ? '−' : ''}${quantityText('share', Math.abs(gain))}`;
}
