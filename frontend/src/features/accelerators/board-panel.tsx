import { Button } from '@mantine/core';
import type { Accelerator } from '@orrery/contract';
import { IconCpu2 } from '@tabler/icons-react';
import { Link } from 'react-router';
import { useChainTitle } from '../../shared/api/chains.js';
import { useMay } from '../../shared/api/session.js';
import { quantityText } from '../../shared/format/quantity.js';
import { resourcesText } from '../../shared/format/resources.js';
import { durationText } from '../../shared/format/time.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { EmulatedMark, emulatedOutline } from '../../shared/ui/emulated-mark.js';
import { Panel } from '../../shared/ui/page-header.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { isEmulated, LoadText, Slowdown } from './board-figures.js';
import { ChainLink } from './chain-link.js';
import { laneWord } from './lanes.js';
import type { MoveStart } from './move-draft.js';
import type { BoardNf } from './nfs.js';
import { ReserveButton } from './reserve-button.js';

interface BoardsProps {
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  /** A move by hand that the operator begins: of an NF, or onto a slot. */
  readonly onMove: (start: MoveStart) => void;
}

export function Boards({ boards, nfs, onMove }: BoardsProps) {
  useSeededSamples(['slot/']);
  if (boards.length === 0)
    return (
      <Panel>
        <EmptyState icon={IconCpu2} title="There is no board">
          A board is part of the infrastructure: add one to a server and its slots appear here and on the{' '}
          <Link to="/topology">topology</Link>. Its agent drives it.
        </EmptyState>
      </Panel>
    );
  return (
    <div className={classes.boards}>
      {boards.map((board) => (
        <Board key={board.id} board={board} nfs={nfs} onMove={onMove} />
      ))}
    </div>
  );
}

function Board({ board, nfs, onMove }: { readonly board: Accelerator } & Pick<BoardsProps, 'nfs' | 'onMove'>) {
  const emulated = isEmulated(board);
  return (
    <Panel
      className={emulated ? emulatedOutline : ''}
      title={
        <span className={classes.boardTitle}>
          <span>{board.title}</span>
          {emulated && <EmulatedMark />}
          <StatusBadge state={isSeen(board) ? board.state : 'unknown'} />
          <Slowdown board={board} />
        </span>
      }
      flush
    >
      <dl className={classes.facts}>
        <Fact name="Device">{board.device}</Fact>
        <Fact name="Server">
          <Link to={`/topology?node=${encodeURIComponent(board.server)}`}>{board.server}</Link>
        </Fact>
        <Fact name="Clock">{board.clock_mhz} MHz</Fact>
        <Fact name="Bandwidth">{quantityText('bps', board.bandwidth_bps)}</Fact>
        <Fact name="Each slot has">{resourcesText(board.resources) || 'not told'}</Fact>
        <Fact name="Load takes, modelled">
          {durationText(board.load_s.partial * 1000)} partial, {durationText(board.load_s.full * 1000)} full
        </Fact>
      </dl>
      {(board.detail || board.description?.note) && (
        <p className={classes.boardNote}>{[board.detail, board.description?.note].filter(Boolean).join(' · ')}</p>
      )}
      <SlotTable board={board} nfs={nfs} onMove={onMove} />
      {board.last_load && (
        <p className={classes.boardNote}>
          Last load: <LoadText load={board.last_load} />
        </p>
      )}
    </Panel>
  );
}

/** Whether anybody tells what the board does; of a board that is away its state says more. */
function isSeen({ state, slots }: Accelerator): boolean {
  return state === 'absent' || !slots.every((slot) => slot.state === 'unknown');
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function SlotTable({ board, nfs, onMove }: { readonly board: Accelerator } & Pick<BoardsProps, 'nfs' | 'onMove'>) {
  const may = useMay('operator');
  return (
    <table className={`table ${classes.cards}`} aria-label={`Slots of ${board.title}`}>
      <thead>
        <tr>
          <th scope="col">Slot</th>
          <th scope="col">State</th>
          <th scope="col">Module</th>
          <th scope="col">Serves</th>
          <th scope="col" className="number">
            Throughput
          </th>
          <th scope="col" className="number">
            Lost
          </th>
          <th scope="col">Reserved</th>
          {may && (
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {board.slots.map((slot) => (
          <SlotRow key={slot.slot} board={board} slot={slot} nfs={nfs} may={may} onMove={onMove} />
        ))}
      </tbody>
    </table>
  );
}

interface SlotRowProps extends Pick<BoardsProps, 'nfs' | 'onMove'> {
  readonly board: Accelerator;
  readonly slot: Accelerator['slots'][number];
  readonly may: boolean;
}

function SlotRow({ board, slot, nfs, may, onMove }: SlotRowProps) {
  const titleOf = useChainTitle();
  const key = (metric: string) => `slot/${board.id}.${slot.slot}/${metric}`;
  const { load, reservation } = slot;
  const moving = ['quiescing', 'loading', 'configuring'].includes(slot.state);
  const nf = nfs.find((each) => each.slot?.board === board.id && each.slot.slot === slot.slot);
  return (
    <tr>
      <td className={`${classes.cardHead} ${classes.nowrap}`}>slot {slot.slot}</td>
      <td data-label="State">
        <StatusBadge state={slot.state} label={laneWord(slot.state)} />
        {load && (
          <span className={classes.small}>
            {load.kind}, {Math.floor((100 * load.bytes) / load.bytes_total)} % of{' '}
            {quantityText('bytes', load.bytes_total)}
          </span>
        )}
        {slot.detail && <span className={classes.small}>{slot.detail}</span>}
      </td>
      <td data-label="Module">{slot.module ?? <span className="muted">none</span>}</td>
      <td data-label="Serves">
        {slot.pipeline_id ? (
          <>
            <ChainLink id={slot.pipeline_id} title={titleOf(slot.pipeline_id)} />
            <span className={classes.small}>{slot.node_id}</span>
          </>
        ) : (
          <span className="muted">nobody</span>
        )}
      </td>
      <td className="number" data-label="Throughput">
        <LiveRate sampleKey={key('bps')} quantity="bps" />
        <span className={classes.small}>
          <LiveRate sampleKey={key('pps')} quantity="pps" />
        </span>
      </td>
      <td className="number" data-label="Lost">
        <LiveRate sampleKey={key('lost_pps')} quantity="pps" />
      </td>
      <td data-label="Reserved">
        {reservation ? (
          <>
            by {reservation.by}, <RelativeTime t_ms={reservation.since_ms} />
            {reservation.reason && <span className={classes.reason}>{reservation.reason}</span>}
          </>
        ) : (
          <span className="muted">no</span>
        )}
      </td>
      {may && (
        <td className={classes.actions}>
          <span>
            {nf && (
              <Button
                variant="default"
                size="compact-xs"
                disabled={moving || !isSeen(board)}
                aria-label={`Drain slot ${slot.slot} of ${board.title}: move ${nf.id} to software`}
                onClick={() => onMove({ to: 'software', nf })}
              >
                Drain
              </Button>
            )}
            <Button
              variant="default"
              size="compact-xs"
              disabled={moving || !isSeen(board) || board.state === 'absent' || board.state === 'failed'}
              aria-label={`Program slot ${slot.slot} of ${board.title}`}
              onClick={() => onMove({ to: 'board', slot: { board: board.id, slot: slot.slot }, nf: '' })}
            >
              Program
            </Button>
            <ReserveButton board={board} slot={slot} />
          </span>
        </td>
      )}
    </tr>
  );
}
