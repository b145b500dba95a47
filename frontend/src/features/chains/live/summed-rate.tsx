import { useCallback, useSyncExternalStore } from 'react';
import type { Quantity } from '../../../shared/format/quantity.js';
import { useStale } from '../../../shared/stream/hooks.js';
import { sampleTopic } from '../../../shared/stream/live-store.js';
import { live } from '../../../shared/stream/stream.js';
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
  const text = keys.join('\n');
  const subscribe = useCallback(
    (listener: () => void) => {
      const ends = text.split('\n').map((key) => live.subscribe(sampleTopic(key), listener));
      return () => {
        for (const end of ends) end();
      };
    },
    [text],
  );
  const samples = () => keys.flatMap((key) => live.sample(key) ?? []);
  const total = useSyncExternalStore(subscribe, () => {
    const known = samples();
    return known.length === 0 ? null : known.reduce((sum, sample) => sum + sample.value, 0);
  });
  const oldest = useSyncExternalStore(subscribe, () =>
    samples().reduce<number | undefined>(
      (least, { received_ms }) => (least === undefined ? received_ms : Math.min(least, received_ms)),
      undefined,
    ),
  );
  return <RateText quantity={quantity} value={total} stale={useStale(oldest)} />;
}
