import type { Quantity } from '../../../shared/format/quantity.js';
import { useSamples, useStale } from '../../../shared/stream/hooks.js';
import { LiveRate, RateText } from '../../../shared/ui/rate-text.js';

interface SummedRateProps {
  readonly keys: readonly string[];
  readonly quantity: Quantity;
}

/** Sum of the newest values of several keys, e.g. of all instances of a node. */
export function SummedRate({ keys, quantity }: SummedRateProps) {
  const [only] = keys;
  return keys.length === 1 && only !== undefined ? (
    <LiveRate sampleKey={only} quantity={quantity} />
  ) : (
    <Sum keys={keys} quantity={quantity} />
  );
}

function Sum({ keys, quantity }: SummedRateProps) {
  const total = useSamples(keys, (samples) =>
    samples.length === 0 ? null : samples.reduce((sum, { value }) => sum + value, 0),
  );
  const oldest_ms = useSamples(keys, (samples) =>
    samples.length === 0 ? null : Math.min(...samples.map(({ received_ms }) => received_ms)),
  );
  return <RateText quantity={quantity} value={total} stale={useStale(oldest_ms ?? undefined)} />;
}
