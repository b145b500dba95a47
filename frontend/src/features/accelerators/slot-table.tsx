import { Button } from '@mantine/core';
import type { Accelerator } from '@orrery/contract';
import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { type ChainTitle, useChainTitle } from '../../shared/api/chains.js';
import { useOutOfService } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { awayWord, isSeen } from '../../shared/format/board-state.js';
import { quantityText } from '../../shared/format/quantity.js';
import { unusedText } from '../../shared/service/service.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { Reason } from '../../shared/ui/reason.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { ChainLink } from './chain-link.js';
import { type LaneState, laneWord } from './lanes.js';
import type { MoveStart } from './move-draft.js';
import type { BoardNf } from './nfs.js';
import { ReserveButton } from './reserve-button.js';

type Slot = Accelerator['slots'][number];

interface SlotTableProps {
  readonly board: Accelerator;
  readonly nfs: readonly BoardNf[];
  /** A manual move that the operator starts: of an NF, or to a slot. */
  readonly onMove: (start: MoveStart) => void;
}

const keyOf = (board: Accelerator, { slot }: Slot, metric: SampleMetric<'slot'>) =>
  sampleKey('slot', { board: board.id, slot }, metric);

/** Beside an engine, which chooses the next hop itself, a slot has no such frames. */
const noHopOf = (board: Accelerator): Column<Slot> => ({
  id: 'no-hop',
  title: 'No next hop',
  number: true,
  sampleKey: (slot) => keyOf(board, slot, 'no_hop_pps'),
  cell: (slot) => <LiveRate sampleKey={keyOf(board, slot, 'no_hop_pps')} quantity="pps" />,
});

function columnsOf(board: Accelerator, titleOf: ChainTitle): readonly Column<Slot>[] {
  return [
    { id: 'slot', title: 'Slot', className: classes.nowrap, value: ({ slot }) => `slot ${slot}` },
    {
      id: 'state',
      title: 'State',
      value: ({ state }) => laneWord(shownState(board, state)),
      cell: ({ state, load, detail }) => (
        <>
          <StatusBadge state={shownState(board, state)} label={laneWord(shownState(board, state))} />
          {load && (
            <span className={classes.small}>
              {load.kind}, {Math.floor((100 * load.bytes) / load.bytes_total)} % of{' '}
              {quantityText('bytes', load.bytes_total)}
            </span>
          )}
          {detail && <span className={classes.small}>{detail}</span>}
        </>
      ),
    },
    {
      id: 'module',
      title: 'Module',
      value: ({ module }) => module,
      cell: ({ module }) => module ?? <span className="muted">none</span>,
    },
    {
      id: 'serves',
      title: 'Serves',
      value: ({ chain_id }) => chain_id && titleOf(chain_id),
      cell: ({ chain_id, node_id }) =>
        chain_id ? (
          <>
            <ChainLink id={chain_id} title={titleOf(chain_id)} />
            <span className={classes.small}>{node_id}</span>
          </>
        ) : (
          <span className="muted">none</span>
        ),
    },
    {
      id: 'throughput',
      title: 'Throughput',
      number: true,
      sampleKey: (slot) => keyOf(board, slot, 'bps'),
      cell: (slot) => (
        <>
          <LiveRate sampleKey={keyOf(board, slot, 'bps')} quantity="bps" />
          <span className={classes.small}>
            <LiveRate sampleKey={keyOf(board, slot, 'pps')} quantity="pps" />
          </span>
        </>
      ),
    },
    {
      id: 'lost',
      title: 'Lost',
      number: true,
      sampleKey: (slot) => keyOf(board, slot, 'lost_pps'),
      cell: (slot) => <LiveRate sampleKey={keyOf(board, slot, 'lost_pps')} quantity="pps" />,
    },
    ...(board.switches.length > 0 ? [noHopOf(board)] : []),
    {
      id: 'reserved',
      title: 'Reserved',
      value: ({ reservation }) => reservation?.by,
      cell: ({ reservation }) =>
        reservation ? (
          <>
            by {reservation.by}, <RelativeTime t_ms={reservation.since_ms} />
            {reservation.reason && <span className={classes.reason}>{reservation.reason}</span>}
          </>
        ) : (
          <span className="muted">no</span>
        ),
    },
  ];
}

export function SlotTable({ board, nfs, onMove }: SlotTableProps) {
  const may = useMay('operator');
  const titleOf = useChainTitle();
  const unused = unusedText(board, useOutOfService().data);
  const actions: Column<Slot> = {
    id: 'actions',
    title: 'Actions',
    untitled: true,
    className: classes.actions,
    cell: (slot) => <SlotActions board={board} slot={slot} nfs={nfs} unused={unused} onMove={onMove} />,
  };
  const columns = columnsOf(board, titleOf);
  return (
    <DataTable
      label={`Slots of ${board.title}`}
      cards={820}
      columns={may ? [...columns, actions] : columns}
      rows={board.slots}
      rowKey={({ slot }) => String(slot)}
    />
  );
}

/** While a board starts, nothing is known of its slots. */
function shownState(board: Accelerator, state: Slot['state']): LaneState {
  return state === 'unknown' && board.state === 'starting' ? 'starting' : state;
}

/** Why nothing can be done with a slot. */
function whyBusy(board: Accelerator, { slot, state }: Slot): string | null {
  if (!isSeen(board)) return `Its agent tells nothing of ${board.title}`;
  const isMoving = ['quiescing', 'loading', 'configuring'].includes(state);
  return isMoving ? `Slot ${slot} is ${laneWord(state)}` : null;
}

/** Why nothing can be loaded into a slot. */
function whyNoLoad(board: Accelerator, slot: Slot): string | null {
  const away = awayWord(board);
  if (away === null || away === 'unknown') return whyBusy(board, slot);
  return [`${board.title} is ${away}`, board.detail].filter(Boolean).join(': ');
}

interface SlotActionsProps extends SlotTableProps {
  readonly slot: Slot;
  /** Why plans do not use the board; null: they do. */
  readonly unused: string | null;
}

function SlotActions({ board, slot, nfs, unused, onMove }: SlotActionsProps) {
  const noDrain = whyBusy(board, slot);
  const noLoad = whyNoLoad(board, slot) ?? unused;
  const nf = nfs.find((each) => each.slot?.board === board.id && each.slot.slot === slot.slot);
  return (
    <span>
      {nf && (
        <Reason of={noDrain}>
          <Button
            variant="default"
            size="compact-xs"
            disabled={noDrain !== null}
            aria-label={`Drain slot ${slot.slot} of ${board.title}: move ${nf.id} to software`}
            onClick={() => onMove({ to: 'software', nf })}
          >
            Drain
          </Button>
        </Reason>
      )}
      <Reason of={noLoad}>
        <Button
          variant="default"
          size="compact-xs"
          disabled={noLoad !== null}
          aria-label={`Program slot ${slot.slot} of ${board.title}`}
          onClick={() => onMove({ to: 'board', slot: { board: board.id, slot: slot.slot }, nf: '' })}
        >
          Program
        </Button>
      </Reason>
      <ReserveButton board={board} slot={slot} />
    </span>
  );
}
