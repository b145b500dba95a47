import { ActionIcon, Tooltip } from '@mantine/core';
import type { LendingTurn, LentNow } from '@orrery/contract';
import { IconTable, IconTimeline } from '@tabler/icons-react';
import { type PointerEvent, useRef, useState } from 'react';
import { pointAt, useCrosshair } from '../../shared/charts/crosshair.js';
import { shareOf, type TimeRange } from '../../shared/charts/time-range.js';
import { quantityText } from '../../shared/format/quantity.js';
import { clockTextMs, durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmptyState } from '../../shared/ui/states.js';
import { CrosshairLine } from './lane-readout.js';
import classes from './lanes.module.css';
import { endText, laneText, whyText } from './lending-words.js';

interface LendingLanesProps {
  /** One lane each. */
  readonly accelerators: readonly Pick<LentNow, 'accelerator' | 'origin'>[];
  readonly turns: readonly LendingTurn[];
  /** Instances in the order of the series of the chart above. */
  readonly charted: readonly string[];
  readonly range: TimeRange;
  /** Since when it is not known who holds what; null: it is known. */
  readonly lost_ms: number | null;
}

/** As in the chart above: its axis on the left, its padding on the right. */
const GUTTER_PX = 74;
const RIGHT_PX = 8;

/** Who held each accelerator when (SSM Figure 6); also available as a table. */
export function LendingLanes({ accelerators, turns, charted, range, lost_ms }: LendingLanesProps) {
  const [table, setTable] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const known_ms = lost_ms ?? range.to_s * 1000;
  const shown = turns.filter(({ to_ms }) => to_ms === null || to_ms >= range.from_s * 1000);
  const point = (event: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    const share = (event.clientX - left - GUTTER_PX) / (width - GUTTER_PX - RIGHT_PX);
    pointAt(share < 0 || share > 1 ? null : range.from_s + share * (range.to_s - range.from_s), 'lanes');
  };
  return (
    <figure className={classes.figure} aria-label="Who held each accelerator">
      <figcaption className={classes.head}>
        <span className={classes.title}>Holders</span>
        <span className={classes.tools}>
          <Tooltip label={table ? 'Show the lanes' : 'Show as a table'}>
            <ActionIcon size="sm" aria-label={`Holders: ${table ? 'lanes' : 'table'}`} onClick={() => setTable(!table)}>
              {table ? <IconTimeline size={14} /> : <IconTable size={14} />}
            </ActionIcon>
          </Tooltip>
        </span>
      </figcaption>
      {table ? (
        <DataTable
          label="Turns"
          className={classes.table}
          columns={columnsOf(known_ms)}
          rows={shown}
          rowKey={({ id }) => id}
          empty={<EmptyState title="Nobody held an accelerator in this time" />}
        />
      ) : (
        <div
          ref={box}
          role="img"
          className={classes.lanes}
          aria-label="Lanes of accelerators. The table contains the same data."
          onPointerMove={point}
          onPointerLeave={() => pointAt(null, 'lanes')}
        >
          {accelerators.map(({ accelerator: name, origin }) => (
            <div key={name} className={classes.lane}>
              <span className={classes.label} title={origin === 'twin' ? `${name}, emulated` : name}>
                {laneText(name)}
              </span>
              <div className={classes.track} data-emulated={origin === 'twin' || undefined}>
                <span className={classes.phase} data-state="empty" style={{ left: 0, width: '100%' }} />
                {shown
                  .filter(({ accelerator }) => accelerator === name)
                  // Newest last: where the clock was set back, it lies over what was told of the same time before.
                  .toReversed()
                  .map((turn) => (
                    <TurnBar key={turn.id} turn={turn} charted={charted} range={range} known_ms={known_ms} />
                  ))}
              </div>
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
      {!table && <Readout names={accelerators.map(({ accelerator }) => accelerator)} turns={shown} />}
    </figure>
  );
}

interface TurnBarProps extends Pick<LendingLanesProps, 'charted' | 'range'> {
  readonly turn: LendingTurn;
  readonly known_ms: number;
}

function TurnBar({ turn, charted, range, known_ms }: TurnBarProps) {
  const { from_ms, to_ms, instance_id } = turn;
  const left = shareOf(range, from_ms);
  const width = shareOf(range, to_ms ?? known_ms) - left;
  if (width <= 0) return null;
  const color = charted.indexOf(instance_id);
  const lasted = durationText((to_ms ?? known_ms) - from_ms);
  return (
    <span
      className={classes.phase}
      data-state="active"
      title={`${instance_id}, ${clockTextMs(from_ms)}, ${lasted}: ${whyText(turn.why)}, then ${endText(turn)}`}
      style={{
        left: `${left * 100}%`,
        width: `${width * 100}%`,
        ...(color >= 0 && { '--lane-color': `var(--o-series-${color + 1})` }),
      }}
    >
      <span className={classes.words}>{instance_id}</span>
    </span>
  );
}

/** Who held each accelerator at the time under the pointer. */
function Readout({ names, turns }: Pick<LendingLanesProps, 'turns'> & { readonly names: readonly string[] }) {
  const t_s = useCrosshair();
  const t_ms = t_s === null ? null : t_s * 1000;
  const holderOf = (name: string) =>
    turns.find(
      ({ accelerator, from_ms, to_ms }) =>
        accelerator === name && t_ms !== null && from_ms <= t_ms && (to_ms === null || to_ms > t_ms),
    )?.instance_id ?? 'nobody';
  return (
    <p className={`${classes.readout} tabular`} aria-hidden>
      {t_ms !== null && `${clockTextMs(t_ms)} · ${names.map((it) => `${it}: ${holderOf(it)}`).join(' · ')}`}
    </p>
  );
}

const columnsOf = (now_ms: number): readonly Column<LendingTurn>[] => [
  { id: 'vnf', title: 'VNF', value: ({ instance_id }) => instance_id },
  { id: 'accelerator', title: 'Accelerator', value: ({ accelerator }) => accelerator },
  { id: 'from', title: 'From', value: ({ from_ms }) => from_ms, cell: ({ from_ms }) => clockTextMs(from_ms) },
  {
    id: 'held',
    title: 'Held',
    number: true,
    value: ({ from_ms, to_ms }) => (to_ms ?? now_ms) - from_ms,
    cell: ({ from_ms, to_ms }) => `${to_ms === null ? 'until now, ' : ''}${durationText((to_ms ?? now_ms) - from_ms)}`,
  },
  { id: 'why', title: 'Granted', value: ({ why }) => whyText(why) },
  { id: 'ended', title: 'Ended', value: endText },
  {
    id: 'switch',
    title: 'Switch',
    number: true,
    value: ({ switch_ms }) => switch_ms,
    cell: ({ switch_ms }) => quantityText('ms', switch_ms),
  },
];
