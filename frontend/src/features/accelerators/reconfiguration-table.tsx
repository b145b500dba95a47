import type { Reconfiguration } from '@orrery/contract';
import { IconReplace } from '@tabler/icons-react';
import { deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { countText } from '../../shared/format/number.js';
import { durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { placeText } from './nfs.js';
import { StageBar } from './stage-bar.js';
import { causeText, reconfigurationMs } from './stages.js';

interface ReconfigurationTableProps {
  readonly items: readonly Reconfiguration[];
  readonly selectedId: string;
  readonly onSelect: (id: string) => void;
}

export function ReconfigurationBadge({ state }: Pick<Reconfiguration, 'state'>) {
  return (
    <StatusBadge state={state} status={state === 'running' ? 'working' : undefined} lasting={state !== 'running'} />
  );
}

/** `Web guard: firewall, software → board-1 slot 0` */
export function Moves({ moves }: Pick<Reconfiguration, 'moves'>) {
  const titleOf = useChainTitle(deletedChain);
  if (moves.length === 0) return <span className="muted">nothing</span>;
  return (
    <ul className={classes.moves}>
      {moves.map(({ chain_id, node_id, from, to }) => (
        <li key={`${chain_id}${node_id}`}>
          {node_id} <span className="muted">of {titleOf(chain_id)}:</span> {placeText(from)} → {placeText(to)}
        </li>
      ))}
    </ul>
  );
}

const columnsOf = (now_ms: number): readonly Column<Reconfiguration>[] => [
  {
    id: 'started',
    title: 'Started',
    className: classes.nowrap,
    value: ({ started_ms }) => started_ms,
    cell: ({ started_ms }) => <RelativeTime t_ms={started_ms} />,
  },
  { id: 'moves', title: 'Moves', className: classes.movesCell, cell: ({ moves }) => <Moves moves={moves} /> },
  {
    id: 'cause',
    title: 'Cause',
    className: classes.causeCell,
    value: ({ cause }) => causeText(cause),
    cell: ({ cause, trigger }) => (
      <>
        {causeText(cause)}
        <span className={classes.small}>{trigger}</span>
      </>
    ),
  },
  { id: 'stages', title: 'Stages', cell: (item) => <StageBar reconfiguration={item} now={now_ms} /> },
  {
    id: 'duration',
    title: 'Duration',
    number: true,
    value: (item) => reconfigurationMs(item, now_ms),
    cell: (item) => durationText(reconfigurationMs(item, now_ms)),
  },
  {
    id: 'lost',
    title: 'Packets lost',
    hint: 'Frames lost while the slot was loaded',
    number: true,
    value: ({ packets_lost }) => packets_lost,
    cell: ({ packets_lost }) => (packets_lost === null ? <span className="muted">–</span> : countText(packets_lost)),
  },
  {
    id: 'result',
    title: 'Result',
    className: classes.resultCell,
    value: ({ state }) => state,
    cell: ({ state, detail }) => (
      <>
        <ReconfigurationBadge state={state} />
        {detail && <span className={classes.small}>{detail}</span>}
      </>
    ),
  },
];

/** What moved, why, and the duration of each of the four stages; newest first. */
export function ReconfigurationTable({ items, selectedId, onSelect }: ReconfigurationTableProps) {
  const now = useNow();
  return (
    <DataTable
      label="Reconfigurations"
      cards={860}
      columns={columnsOf(now)}
      rows={items}
      rowKey={({ id }) => id}
      selectedKey={selectedId}
      onSelect={({ id }) => onSelect(id)}
      empty={
        <EmptyState icon={IconReplace} title="No reconfigurations yet">
          An NF moves when a policy sees its load cross a threshold, or when you program or drain a slot.
        </EmptyState>
      }
    />
  );
}
