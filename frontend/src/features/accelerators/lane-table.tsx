import type { ChainTitle } from '../../shared/api/chains.js';
import type { TimeRange } from '../../shared/charts/time-range.js';
import { clockTextMs, durationText } from '../../shared/format/time.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { ChainLink } from './chain-link.js';
import { type Lane, laneWord, type Phase } from './lanes.js';
import classes from './lanes.module.css';

interface LaneRow {
  readonly board: string;
  readonly slot: number;
  readonly phase: Phase;
  readonly chain: string | null;
}

/** What the lanes show within the window, the newest first. */
export function laneRows(lanes: readonly Lane[], titleOf: ChainTitle, range: TimeRange): LaneRow[] {
  return lanes
    .flatMap(({ board, slot, phases }) =>
      phases
        .filter(({ to_ms }) => to_ms === null || to_ms >= range.from_s * 1000)
        .map((phase) => ({ board, slot, phase, chain: phase.nf && titleOf(phase.nf.pipeline_id, phase.chain) })),
    )
    .sort((a, b) => b.phase.from_ms - a.phase.from_ms);
}

export function LaneTable({ rows, now }: { readonly rows: readonly LaneRow[]; readonly now: number }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={classes.table} tabIndex={0} aria-label="Board slots, table">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Slot</th>
            <th scope="col">State</th>
            <th scope="col">Module</th>
            <th scope="col">Serves</th>
            <th scope="col">From</th>
            <th scope="col" className="number">
              For
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ board, slot, phase, chain }) => (
            <tr key={`${board} ${slot} ${phase.from_ms}`}>
              <td>
                {board} slot {slot}
              </td>
              <td>
                <StatusBadge state={phase.state} label={laneWord(phase.state)} />
              </td>
              <td>{phase.module ?? <span className="muted">none</span>}</td>
              <td>
                {phase.nf ? (
                  <>
                    <ChainLink id={phase.nf.pipeline_id} title={chain} />{' '}
                    <span className="muted">{phase.nf.node_id}</span>
                  </>
                ) : (
                  <span className="muted">nobody</span>
                )}
              </td>
              <td>{clockTextMs(phase.from_ms)}</td>
              <td className="number">
                {phase.to_ms === null ? 'until now, ' : ''}
                {durationText((phase.to_ms ?? now) - phase.from_ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
