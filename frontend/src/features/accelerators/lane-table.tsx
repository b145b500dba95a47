import type { ChainTitle } from '../../shared/api/chains.js';
import type { TimeRange } from '../../shared/charts/time-range.js';
import { clockTextMs, durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
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

/** What the lanes show within the window, newest first. */
export function laneRows(lanes: readonly Lane[], titleOf: ChainTitle, range: TimeRange): LaneRow[] {
  return lanes
    .flatMap(({ board, slot, phases }) =>
      phases
        .filter(({ to_ms }) => to_ms === null || to_ms >= range.from_s * 1000)
        .map((phase) => ({ board, slot, phase, chain: phase.nf && titleOf(phase.nf.chain_id, phase.chain) })),
    )
    .sort((a, b) => b.phase.from_ms - a.phase.from_ms);
}

const columnsOf = (now_ms: number): readonly Column<LaneRow>[] => [
  { id: 'slot', title: 'Slot', value: ({ board, slot }) => `${board} slot ${slot}` },
  {
    id: 'state',
    title: 'State',
    value: ({ phase }) => laneWord(phase.state),
    cell: ({ phase }) => (
      <StatusBadge state={phase.state} label={laneWord(phase.state)} lasting={phase.to_ms !== null} />
    ),
  },
  {
    id: 'module',
    title: 'Module',
    value: ({ phase }) => phase.module,
    cell: ({ phase }) => phase.module ?? <span className="muted">none</span>,
  },
  {
    id: 'serves',
    title: 'Serves',
    value: ({ chain }) => chain,
    cell: ({ phase, chain }) =>
      phase.nf ? (
        <>
          <ChainLink id={phase.nf.chain_id} title={chain} /> <span className="muted">{phase.nf.node_id}</span>
        </>
      ) : (
        <span className="muted">none</span>
      ),
  },
  {
    id: 'from',
    title: 'From',
    value: ({ phase }) => phase.from_ms,
    cell: ({ phase }) => clockTextMs(phase.from_ms),
  },
  {
    id: 'duration',
    title: 'Duration',
    number: true,
    value: ({ phase }) => (phase.to_ms ?? now_ms) - phase.from_ms,
    cell: ({ phase }) =>
      `${phase.to_ms === null ? 'until now, ' : ''}${durationText((phase.to_ms ?? now_ms) - phase.from_ms)}`,
  },
];

export function LaneTable({ rows, now }: { readonly rows: readonly LaneRow[]; readonly now: number }) {
  return (
    <DataTable
      label="Board slots"
      className={classes.table}
      columns={columnsOf(now)}
      rows={rows}
      rowKey={({ board, slot, phase }) => `${board} ${slot} ${phase.from_ms}`}
    />
  );
}
