import type { Accelerator, LoadResult } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { durationText } from '../../shared/format/time.js';
import { useSample, useSamples, useStale } from '../../shared/stream/hooks.js';

/** Whether a process runs the board's RTL; until its agent told, where the board is says it. */
export function isEmulated({ description, origin }: Accelerator): boolean {
  return description?.emulated ?? origin === 'twin';
}

/** How much slower than its own clock an emulated board runs by the wall, while packets go through one of its slots. */
export function Slowdown({ board }: { readonly board: Accelerator }) {
  const sample = useSample(`board/${board.id}/slowdown`);
  const stale = useStale(sample?.received_ms);
  const rates = board.slots.map(({ slot }) => `slot/${board.id}.${slot}/pps`);
  const works = useSamples(rates, (samples) => samples.some(({ value }) => value > 0));
  if (!isEmulated(board) || !sample || stale || !works) return null;
  return (
    <span
      className="muted tabular"
      title="Board time is cycles / clock. Rates and times of the lanes are by the wall; this is how much slower the wall sees the board work."
    >
      runs {quantityText('count', sample.value)}× slower than board time
    </span>
  );
}

const seconds = (value: number) => durationText(value * 1000);

/** What a load took, by the model and by the wall, and what became of frames meanwhile. */
export function LoadText({ load }: { readonly load: LoadResult }) {
  const frames = [
    load.held > 0 && `${load.held.toLocaleString()} held`,
    load.lost > 0 && `${load.lost.toLocaleString()} lost`,
    load.bypassed > 0 && `${load.bypassed.toLocaleString()} bypassed`,
  ].filter(Boolean);
  return (
    <>
      {load.kind} load of {load.module ?? (load.slot === null ? 'the whole board' : 'nothing')}
      {load.slot !== null && ` into slot ${load.slot}`}, {quantityText('bytes', load.bytes)}: modelled{' '}
      {seconds(load.modelled_s)} of board time, measured {seconds(load.measured_s)} by the wall;{' '}
      {frames.length === 0 ? 'no frame met it' : `frames: ${frames.join(', ')}`}
      {load.error && <span role="alert"> · failed: {load.error}</span>}
    </>
  );
}
