import type { Execution } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { quantityText } from '../../shared/format/quantity.js';
import { gainOf, pointsText } from '../../shared/plan/predicted-latency.js';
import { useSample, useStale } from '../../shared/stream/hooks.js';
import type { KnownChain } from './use-chains.js';

/** Share of the latency that running in parallel saves, as predicted; null: not known. */
export function predictedGain({ in: { sequential, parallel } }: KnownChain): number | null {
  return gainOf(sequential.predicted?.mean_us, parallel.predicted?.mean_us);
}

/** The same of two measured latencies, one of them now. */
export function measuredGain(
  execution: Execution | null,
  now_us: number,
  before_us: number | undefined,
): number | null {
  if (execution === null) return null;
  return execution === 'parallel' ? gainOf(before_us, now_us) : gainOf(now_us, before_us);
}

/** The measured gain, and how far it is from the predicted one. */
export function MeasuredGain({ chain, inline = false }: { readonly chain: KnownChain; readonly inline?: boolean }) {
  const { row, measuredBefore } = chain;
  const sample = useSample(sampleKey('chain', row.id, 'latency_p50_us'));
  const stale = useStale(sample?.received_ms);
  const gain = sample && !stale ? measuredGain(row.execution, sample.value, measuredBefore?.p50_us) : null;
  const predicted = predictedGain(chain);
  if (gain === null)
    return (
      <span className="muted" title="Known once the chain has run both in sequence and in parallel.">
        –
      </span>
    );
  return (
    <>
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
