import type { Accelerator } from '@orrery/contract';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { IconCpu2 } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { attachmentText } from '../../shared/format/attachment.js';
import { isSeen } from '../../shared/format/board-state.js';
import { quantityText } from '../../shared/format/quantity.js';
import { resourcesText } from '../../shared/format/resources.js';
import { durationText } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import { PartService } from '../../shared/service/part-service.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { EmulatedMark, emulatedOutline } from '../../shared/ui/emulated-mark.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { isEmulated, LoadText, Slowdown } from './board-figures.js';
import type { MoveStart } from './move-draft.js';
import type { BoardNf } from './nfs.js';
import { SlotTable } from './slot-table.js';

interface BoardsProps {
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  /** A manual move that the operator starts: of an NF, or to a slot. */
  readonly onMove: (start: MoveStart) => void;
}

export function Boards({ boards, nfs, onMove }: BoardsProps) {
  useSeededSamples([samplePrefix('slot')]);
  if (boards.length === 0)
    return (
      <Panel>
        <EmptyState icon={IconCpu2} title="No boards">
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
      actions={<PartService id={board.id} board={board} />}
    >
      <dl className={classes.facts}>
        <Fact name="Device">{board.device}</Fact>
        <Fact name="Attached">{attachmentText(board)}</Fact>
        <Fact name="Server">
          <Link to={`/topology?node=${encodeURIComponent(board.server)}`}>{board.server}</Link>
        </Fact>
        <Fact name="Clock">{board.clock_mhz} MHz</Fact>
        <Fact name="Port bandwidth">{quantityText('bps', board.bandwidth_bps)}</Fact>
        <Fact name="Each slot has">{resourcesText(board.resources) || 'not known'}</Fact>
        <Fact name="Load time, modelled">
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

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
