import type { CSSProperties } from 'react';
import { formatQuantity, type Quantity, UNIT_WIDTH_CH, VALUE_WIDTH_CH } from '../format/quantity.js';
import { useCut, useSample, useStale } from '../stream/hooks.js';
import classes from './rate-text.module.css';

interface RateTextProps {
  readonly quantity: Quantity;
  readonly value: number | null | undefined;
  readonly stale?: boolean;
  /** In a sentence, where a box of a fixed width would be a gap. */
  readonly inText?: boolean;
}

/** A figure with its unit, in a box whose width the value never changes, unless it is in a sentence. */
export function RateText({ quantity, value, stale = false, inText = false }: RateTextProps) {
  const shown = value === null || value === undefined ? { value: '–', unit: '' } : formatQuantity(quantity, value);
  return (
    <span
      className={classes.rate}
      data-stale={stale || undefined}
      title={stale ? 'stale: no newer value arrived' : undefined}
    >
      <span className={classes.value} style={{ '--width': inText ? '0' : `${VALUE_WIDTH_CH}ch` } as CSSProperties}>
        {shown.value}
      </span>
      {(shown.unit !== '' || !inText) && (
        <span className={classes.unit} style={{ minWidth: inText ? undefined : `${UNIT_WIDTH_CH[quantity]}ch` }}>
          {shown.unit}
        </span>
      )}
      {stale && <span className="sr-only">, stale</span>}
    </span>
  );
}

/** A measured figure that the server judges: stale when the server says so, and while the browser is cut off from it. */
export function MeasuredText({ stale = false, ...rate }: RateTextProps) {
  return <RateText {...rate} stale={useCut() || stale} />;
}

/** The latest value of a sample key; renders only when that key changes. */
export function LiveRate({
  sampleKey,
  ...rate
}: Omit<RateTextProps, 'value' | 'stale'> & { readonly sampleKey: string }) {
  const sample = useSample(sampleKey);
  const stale = useStale(sample?.received_ms);
  return <RateText {...rate} value={sample?.value} stale={stale} />;
}
