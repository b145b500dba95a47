import type { Accelerator, Reconfiguration } from '@orrery/contract';
import type { ChainTitle } from '../../shared/api/chains.js';
import { shareOf, type TimeRange } from '../../shared/charts/time-range.js';
import { attachmentText } from '../../shared/format/attachment.js';
import { clockTextMs, durationText } from '../../shared/format/time.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { isEmulated, Slowdown } from './board-figures.js';
import { type Lane, laneWord, loadKindOf, type Phase } from './lanes.js';
import classes from './lanes.module.css';
import { type ChartedNf, sameNf } from './nfs.js';

interface BoardLanesProps {
  readonly board: Accelerator;
  /** Of its slots. */
  readonly lanes: readonly Lane[];
  readonly nfs: readonly ChartedNf[];
  readonly reconfigurations: readonly Reconfiguration[];
  readonly range: TimeRange;
  /** Until when it is known what the slots do. */
  readonly known_ms: number;
  readonly titleOf: ChainTitle;
  /** Why plans do not use the board; null: they do. */
  readonly unused: string | null;
}

/** A board with a lane for each slot. */
export function BoardLanes({ board, lanes, titleOf, unused, ...shown }: BoardLanesProps) {
  return (
    <div className={classes.board}>
      <div className={classes.boardHead}>
        <strong>{board.title}</strong>
        {isEmulated(board) && <EmulatedMark />}
        {board.state !== 'operating' && <StatusBadge state={board.state} />}
        {unused !== null && <StatusBadge state="unused" status="degraded" label={unused} />}
        <span className="muted">
          {board.device}, {attachmentText(board)}
        </span>
        <Slowdown board={board} />
      </div>
      {lanes.map((lane) => (
        <div key={lane.slot} className={classes.lane}>
          <span className={classes.label}>slot {lane.slot}</span>
          <div className={classes.track} data-emulated={isEmulated(board) || undefined}>
            {lane.phases.map((phase) => (
              <PhaseBar
                {...shown}
                key={phase.from_ms}
                phase={phase}
                lane={lane}
                board={board}
                chain={phase.nf && titleOf(phase.nf.chain_id, phase.chain)}
              />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

interface PhaseBarProps extends Omit<BoardLanesProps, 'lanes' | 'titleOf' | 'unused'> {
  readonly phase: Phase;
  readonly lane: Lane;
  readonly chain: string | null;
}

function PhaseBar({ phase, lane, board, nfs, reconfigurations, range, known_ms, chain }: PhaseBarProps) {
  const left = shareOf(range, phase.from_ms);
  const width = shareOf(range, phase.to_ms ?? known_ms) - left;
  if (width <= 0) return null;
  const { state } = phase;
  const load = phase.to_ms === null ? (board.slots.find(({ slot }) => slot === lane.slot)?.load ?? null) : null;
  const kind = state === 'loading' ? (load?.kind ?? loadKindOf(lane, phase, reconfigurations)) : null;
  const done = load ? load.bytes / load.bytes_total : null;
  const color = phase.nf && nfs.find((nf) => sameNf(nf, phase.nf!))?.color;
  const words =
    state === 'active'
      ? `${phase.module ?? 'active'}${chain ? ` for ${chain}` : ''}`
      : `${kind ? `${kind} load` : laneWord(state)}${done === null ? '' : ` ${Math.floor(done * 100)} %`}`;
  return (
    <span
      className={classes.phase}
      data-state={state}
      data-kind={kind ?? undefined}
      title={`${words}, ${clockTextMs(phase.from_ms)}, ${durationText((phase.to_ms ?? known_ms) - phase.from_ms)}`}
      style={{
        left: `${left * 100}%`,
        width: `${width * 100}%`,
        ...(typeof color === 'number' && { '--lane-color': `var(--o-series-${color + 1})` }),
      }}
    >
      {done !== null && <span className={classes.progress} style={{ width: `${done * 100}%` }} />}
      <span className={classes.words}>{words}</span>
    </span>
  );
}
