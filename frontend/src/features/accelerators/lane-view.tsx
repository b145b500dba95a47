import { ActionIcon, Tooltip } from '@mantine/core';
import type { Accelerator, Reconfiguration } from '@orrery/contract';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { IconDownload, IconTable, IconTimeline } from '@tabler/icons-react';
import { type PointerEvent, useRef, useState } from 'react';
import { deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { useOutOfService } from '../../shared/api/queries.js';
import { pointAt } from '../../shared/charts/crosshair.js';
import type { TimeRange } from '../../shared/charts/time-range.js';
import { download, toCsv } from '../../shared/files/csv.js';
import { clockTextMs } from '../../shared/format/time.js';
import { unusedText } from '../../shared/service/service.js';
import { useWantSamples } from '../../shared/stream/hooks.js';
import { BoardLanes } from './board-lanes.js';
import { LaneLegend } from './lane-legend.js';
import { CrosshairLine, LaneReadout } from './lane-readout.js';
import { LaneTable, laneRows } from './lane-table.js';
import { type Lane, laneWord } from './lanes.js';
import classes from './lanes.module.css';
import type { ChartedNf } from './nfs.js';
import { StageLane } from './stage-lane.js';

interface LaneViewProps {
  readonly boards: readonly Accelerator[];
  readonly lanes: readonly Lane[];
  /** NFs with a colour in the chart above. */
  readonly nfs: readonly ChartedNf[];
  readonly reconfigurations: readonly Reconfiguration[];
  readonly range: TimeRange;
  /** Since when the state of slots is unknown; null: it is known. */
  readonly lost_ms: number | null;
  readonly className?: string;
}

/** As in the chart above: its axis on the left, its padding on the right. */
const GUTTER_PX = 74;
const RIGHT_PX = 8;
/** A lane for each slot with what it did, when and for which NF; also available as a table. */
export function LaneView({ boards, lanes, nfs, reconfigurations, range, lost_ms, className }: LaneViewProps) {
  const known_ms = lost_ms ?? range.to_s * 1000;
  const [table, setTable] = useState(false);
  const titleOf = useChainTitle(deletedChain);
  const { data: out } = useOutOfService();
  useWantSamples([samplePrefix('board'), samplePrefix('slot')]);
  const box = useRef<HTMLDivElement>(null);
  const rows = () => laneRows(lanes, titleOf, range);
  const point = (event: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    const share = (event.clientX - left - GUTTER_PX) / (width - GUTTER_PX - RIGHT_PX);
    pointAt(share < 0 || share > 1 ? null : range.from_s + share * (range.to_s - range.from_s), 'lanes');
  };
  if (boards.length === 0) return null;
  return (
    <figure className={`${classes.figure} ${className ?? ''}`} aria-label="What each board slot did">
      <figcaption className={classes.head}>
        <span className={classes.title}>Board slots</span>
        <LaneLegend />
        <span className={classes.tools}>
          <Tooltip label={table ? 'Show the lanes' : 'Show as a table'}>
            <ActionIcon
              size="sm"
              aria-label={`Board slots: ${table ? 'lanes' : 'table'}`}
              onClick={() => setTable(!table)}
            >
              {table ? <IconTimeline size={14} /> : <IconTable size={14} />}
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Download CSV">
            <ActionIcon
              size="sm"
              aria-label="Board slots: download CSV"
              onClick={() =>
                download(
                  'board-slots.csv',
                  toCsv(
                    ['board', 'slot', 'state', 'module', 'chain', 'node', 'from', 'to'],
                    rows().map(({ board, slot, phase, chain }) => [
                      board,
                      slot,
                      laneWord(phase.state),
                      phase.module,
                      chain,
                      phase.nf?.node_id ?? null,
                      new Date(phase.from_ms).toISOString(),
                      phase.to_ms === null ? null : new Date(phase.to_ms).toISOString(),
                    ]),
                  ),
                  'text/csv',
                )
              }
            >
              <IconDownload size={14} />
            </ActionIcon>
          </Tooltip>
        </span>
      </figcaption>
      {table ? (
        <LaneTable rows={rows()} now={known_ms} />
      ) : (
        <div
          ref={box}
          role="img"
          className={classes.lanes}
          aria-label="Lanes of board slots. The table contains the same data."
          onPointerMove={point}
          onPointerLeave={() => pointAt(null, 'lanes')}
        >
          <StageLane reconfigurations={reconfigurations} range={range} known_ms={known_ms} />
          {boards.map((board) => (
            <BoardLanes
              key={board.id}
              board={board}
              lanes={lanes.filter((lane) => lane.board === board.id)}
              nfs={nfs}
              reconfigurations={reconfigurations}
              range={range}
              known_ms={known_ms}
              titleOf={titleOf}
              unused={unusedText(board, out)}
            />
          ))}
          {lost_ms !== null && (
            <p className={classes.lost} role="status">
              Not known since {clockTextMs(lost_ms)}: the connection is lost.
            </p>
          )}
          <CrosshairLine range={range} />
        </div>
      )}
      {!table && <LaneReadout lanes={lanes} titleOf={titleOf} />}
    </figure>
  );
}
