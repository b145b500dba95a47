import { ActionIcon, Tooltip } from '@mantine/core';
import type { Accelerator, Reconfiguration } from '@orrery/contract';
import { IconDownload, IconTable, IconTimeline } from '@tabler/icons-react';
import { type PointerEvent, useRef, useState } from 'react';
import { type ChainTitle, deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { pointAt, useCrosshair } from '../../shared/charts/crosshair.js';
import { download, toCsv } from '../../shared/charts/csv.js';
import { shareOf, type TimeRange } from '../../shared/charts/time-range.js';
import { clockTextMs, durationText } from '../../shared/format/time.js';
import { useWantSamples } from '../../shared/stream/hooks.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { isEmulated, Slowdown } from './board-figures.js';
import { LaneTable, laneRows } from './lane-table.js';
import { type Lane, type LaneState, laneWord, loadKindOf, type Phase, phaseAt } from './lanes.js';
import classes from './lanes.module.css';
import { type ChartedNf, sameNf } from './nfs.js';
import { STAGE_NAMES, stageSpans } from './stages.js';

interface LaneViewProps {
  readonly boards: readonly Accelerator[];
  readonly lanes: readonly Lane[];
  /** NFs with a colour in the chart above. */
  readonly nfs: readonly ChartedNf[];
  readonly reconfigurations: readonly Reconfiguration[];
  readonly range: TimeRange;
  /** Since when nothing is told of what slots do; null: it is. */
  readonly lost_ms: number | null;
  readonly className?: string;
}

/** As in the chart above: its axis on the left, its padding on the right. */
const GUTTER_PX = 74;
const RIGHT_PX = 8;
const STATES: readonly LaneState[] = [
  'empty',
  'quiescing',
  'loading',
  'configuring',
  'active',
  'faulty',
  'absent',
  'unknown',
];

/** A lane for each slot with what it did, when and for whom; the same as a table. */
export function LaneView({ boards, lanes, nfs, reconfigurations, range, lost_ms, className }: LaneViewProps) {
  const known_ms = lost_ms ?? range.to_s * 1000;
  const [table, setTable] = useState(false);
  const titleOf = useChainTitle(deletedChain);
  useWantSamples(['board/', 'slot/']);
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
        <Legend />
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
          aria-label="Lanes of board slots. The table has the same, for the keyboard."
          onPointerMove={point}
          onPointerLeave={() => pointAt(null, 'lanes')}
        >
          <StageLane reconfigurations={reconfigurations} range={range} known_ms={known_ms} />
          {boards.map((board) => (
            <div key={board.id} className={classes.board}>
              <div className={classes.boardHead}>
                <strong>{board.title}</strong>
                {isEmulated(board) && <EmulatedMark />}
                {board.state !== 'operating' && <StatusBadge state={board.state} />}
                <span className="muted">
                  {board.device}, {board.server}
                </span>
                <Slowdown board={board} />
              </div>
              {lanes
                .filter((lane) => lane.board === board.id)
                .map((lane) => (
                  <div key={lane.slot} className={classes.lane}>
                    <span className={classes.label}>slot {lane.slot}</span>
                    <div className={classes.track} data-emulated={isEmulated(board) || undefined}>
                      {lane.phases.map((phase) => (
                        <PhaseBar
                          key={phase.from_ms}
                          phase={phase}
                          lane={lane}
                          board={board}
                          nfs={nfs}
                          reconfigurations={reconfigurations}
                          range={range}
                          known_ms={known_ms}
                          chain={phase.nf && titleOf(phase.nf.pipeline_id, phase.chain)}
                        />
                      ))}
                    </div>
                  </div>
                ))}
            </div>
          ))}
          {lost_ms !== null && (
            <p className={classes.lost} role="status">
              Not known since {clockTextMs(lost_ms)}: the connection is lost.
            </p>
          )}
          <CrosshairLine range={range} />
        </div>
      )}
      {!table && <Readout lanes={lanes} titleOf={titleOf} />}
    </figure>
  );
}

interface PhaseBarProps {
  readonly phase: Phase;
  readonly lane: Lane;
  readonly board: Accelerator;
  readonly nfs: readonly ChartedNf[];
  readonly reconfigurations: readonly Reconfiguration[];
  readonly range: TimeRange;
  /** Until when it is known what the slot does. */
  readonly known_ms: number;
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

/** The four steps of each reconfiguration (CoNFV IV-D), above the lanes that they change. */
function StageLane({
  reconfigurations,
  range,
  known_ms,
}: Pick<PhaseBarProps, 'reconfigurations' | 'range' | 'known_ms'>) {
  const spans = reconfigurations
    .filter(({ ended_ms }) => (ended_ms ?? known_ms) >= range.from_s * 1000)
    .flatMap(({ id, stages }) => stageSpans({ stages }, known_ms).map((span) => ({ id, ...span })));
  if (spans.length === 0) return null;
  return (
    <div className={classes.lane}>
      <span className={classes.label}>stages</span>
      <div className={classes.track} data-plain>
        {spans.map(({ id, stage, state, from_ms, to_ms }) => {
          const left = shareOf(range, from_ms);
          const width = shareOf(range, to_ms) - left;
          if (width <= 0) return null;
          const words = `${STAGE_NAMES[stage]} ${durationText(to_ms - from_ms)}`;
          return (
            <span
              key={`${id}${stage}`}
              className={classes.stage}
              data-stage={stage}
              data-state={state}
              title={`${words}${state === 'failed' ? ', failed' : ''}`}
              style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
            >
              <span className={classes.words}>{words}</span>
            </span>
          );
        })}
      </div>
    </div>
  );
}

function CrosshairLine({ range }: { readonly range: TimeRange }) {
  const t_s = useCrosshair();
  if (t_s === null || t_s < range.from_s || t_s > range.to_s) return null;
  return (
    <div className={classes.over} aria-hidden>
      <span style={{ left: `${shareOf(range, t_s * 1000) * 100}%` }} />
    </div>
  );
}

/** What each slot did at the moment under the pointer. */
function Readout({ lanes, titleOf }: { readonly lanes: readonly Lane[]; readonly titleOf: ChainTitle }) {
  const t_s = useCrosshair();
  const told = lanes.flatMap((lane) => {
    const phase = t_s === null ? undefined : phaseAt(lane, t_s * 1000);
    if (!phase) return [];
    const serves = phase.nf ? ` for ${titleOf(phase.nf.pipeline_id, phase.chain)}` : '';
    return [`${lane.board} slot ${lane.slot}: ${laneWord(phase.state)} ${phase.module ?? ''}${serves}`.trim()];
  });
  return (
    <p className={`${classes.readout} tabular`} aria-hidden>
      {t_s !== null && told.length > 0 && `${clockTextMs(t_s * 1000)} · ${told.join(' · ')}`}
    </p>
  );
}

function Legend() {
  return (
    <ul className={classes.legend} aria-label="States">
      {STATES.map((state) => (
        <li key={state}>
          <span className={classes.swatch}>
            <span className={classes.phase} data-state={state} />
          </span>
          {laneWord(state)}
        </li>
      ))}
    </ul>
  );
}
