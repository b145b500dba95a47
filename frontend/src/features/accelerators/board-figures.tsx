import type { Accelerator, LoadResult } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { durationText } from '../../shared/format/time.js';
import { useSample, useSamples, useStale } from '../../shared/stream/hooks.js';

/** Whether a process simulates the board's RTL; until its agent reports, inferred from the board's origin. */
export function isEmulated({ description, origin }: Accelerator): boolean {
  return description?.emulated ?? origin === 'twin';
}

/** Wall-clock slowdown of an emulated board while packets pass one of its slots. */
export function Slowdown({ board }: { readonly board: Accelerator }) {
  const sample = useSample(sampleKey('board', board.id, 'slowdown'));
  const stale = useStale(sample?.received_ms);
  const rates = board.slots.map(({ slot }) => sampleKey('slot', { board: board.id, slot }, 'pps'));
  const works = useSamples(rates, (samples) => samples.some(({ value }) => value > 0));
  if (!isEmulated(board) || !sample || stale || !works) return null;
  return (
    <span
      className="muted tabular"
      title="Board time is cycles / clock. Rates and times in the lanes are wall-clock; this is the slowdown against real hardware."
    >
      runs {quantityText('count', sample.value)}× slower than hardware
    </span>
  );
}

const seconds = (value: number) => durationText(value * 1000);

/** Duration of a load, modelled and measured, and what happened to frames during it. */
export function LoadText({ load }: { readonly load: LoadResult }) {
  const frames = [
    load.held > 0 && `${countText(load.held)} held`,
    load.lost > 0 && `${countText(load.lost)} lost`,
    load.bypassed > 0 && `${countText(load.bypassed)} bypassed`,
  ].filter(Boolean);
  return (
    <>
      {load.kind} load of {load.module ?? (load.slot === null ? 'the whole board' : 'nothing')}
      {load.slot !== null && ` into slot ${load.slot}`}, {quantityText('bytes', load.bytes)}: modelled{' '}
      {seconds(load.modelled_s)} of board time, measured {seconds(load.measured_s)} wall-clock;{' '}
      {frames.length === 0 ? 'no frame affected' : `frames: ${frames.join(', ')}`}
      {load.error && <span role="alert"> · failed: {load.error}</span>}
    </>
  );
}
