import type { ChainTitle } from '../../shared/api/chains.js';
import { useCrosshair } from '../../shared/charts/crosshair.js';
import { shareOf, type TimeRange } from '../../shared/charts/time-range.js';
import { clockTextMs } from '../../shared/format/time.js';
import { type Lane, laneWord, phaseAt } from './lanes.js';
import classes from './lanes.module.css';

/** The crosshair that all charts of the page share. */
export function CrosshairLine({ range }: { readonly range: TimeRange }) {
  const t_s = useCrosshair();
  if (t_s === null || t_s < range.from_s || t_s > range.to_s) return null;
  return (
    <div className={classes.over} aria-hidden>
      <span style={{ left: `${shareOf(range, t_s * 1000) * 100}%` }} />
    </div>
  );
}

/** What each slot was doing at the time under the pointer. */
export function LaneReadout({ lanes, titleOf }: { readonly lanes: readonly Lane[]; readonly titleOf: ChainTitle }) {
  const t_s = useCrosshair();
  const told = lanes.flatMap((lane) => {
    const phase = t_s === null ? undefined : phaseAt(lane, t_s * 1000);
    if (!phase) return [];
    const serves = phase.nf ? ` for ${titleOf(phase.nf.chain_id, phase.chain)}` : '';
    return [`${lane.board} slot ${lane.slot}: ${laneWord(phase.state)} ${phase.module ?? ''}${serves}`.trim()];
  });
  return (
    <p className={`${classes.readout} tabular`} aria-hidden>
      {t_s !== null && told.length > 0 && `${clockTextMs(t_s * 1000)} · ${told.join(' · ')}`}
    </p>
  );
}
