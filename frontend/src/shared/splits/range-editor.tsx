import { NumberInput } from '@mantine/core';
import { FLOW_SPACE } from '@orrery/contract';
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from 'react';
import { colourOf } from '../plan/range-bar.js';
import { type Cut, rangesOf, roomOf, withBorder } from './range-edits.js';
import classes from './splits.module.css';

interface RangeEditorProps {
  /** By ordinal. */
  readonly instances: readonly string[];
  readonly cut: Cut;
  readonly onChange: (cut: Cut) => void;
  /** Whether a border is typed that cannot be one. */
  readonly onInvalid: (invalid: boolean) => void;
}

/** What was typed for borders of a cut and cannot be them. */
interface Refused {
  readonly cut: Cut;
  readonly typed: Readonly<Record<number, number | string | null>>;
}

/** Identities by which a key moves a border; with Shift sixteen times as many. */
const STEP = 256;

/** The ranges of an NF's instances, with borders to drag, to move by keys, or to type. */
export function RangeEditor({ instances, cut, onChange, onInvalid }: RangeEditorProps) {
  const bar = useRef<HTMLDivElement>(null);
  const [refused, setRefused] = useState<Refused>({ cut, typed: {} });
  const ranges = rangesOf(cut);
  /** Until the border is moved otherwise, others make room for it, or all are set anew. */
  const typed = refused.cut === cut ? refused.typed : {};
  const refusedAt = (index: number) => {
    const entry = typed[index] ?? null;
    return entry === null || fits(entry, roomOf(cut, index)) ? null : entry;
  };
  const invalid = cut.borders.some((_, index) => refusedAt(index) !== null);
  useEffect(() => onInvalid(invalid), [onInvalid, invalid]);
  const between = (index: number) =>
    `Border between ${instances[cut.order[index]!]} and ${instances[cut.order[index + 1]!]}`;
  const move = (index: number, to: number) => {
    const moved = withBorder(cut, index, to);
    setRefused({ cut: moved, typed: { ...typed, [index]: null } });
    onChange(moved);
  };
  const drag = (index: number, event: PointerEvent) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const { left, width } = bar.current!.getBoundingClientRect();
    move(index, ((event.clientX - left) / width) * FLOW_SPACE);
  };
  const byKey = (index: number, event: KeyboardEvent) => {
    const by = (event.shiftKey ? 16 : 1) * STEP;
    const { lo, hi } = roomOf(cut, index);
    const now = cut.borders[index]!;
    const to = { ArrowLeft: now - by, ArrowRight: now + by, Home: lo, End: hi }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(index, to);
  };
  return (
    <>
      <div className={classes.bar} ref={bar}>
        {ranges.map(({ lo, hi }, instance) => (
          <span
            key={instances[instance]}
            aria-hidden
            className={classes.range}
            title={`${instances[instance]}: [${lo}, ${hi})`}
            style={{
              left: `${(lo / FLOW_SPACE) * 100}%`,
              width: `${((hi - lo) / FLOW_SPACE) * 100}%`,
              background: colourOf(instance),
            }}
          />
        ))}
        {cut.borders.map((border, index) => {
          const { lo, hi } = roomOf(cut, index);
          return (
            <div
              key={between(index)}
              role="slider"
              tabIndex={0}
              className={classes.border}
              aria-label={between(index)}
              aria-valuemin={lo}
              aria-valuemax={hi}
              aria-valuenow={border}
              style={{ left: `${(border / FLOW_SPACE) * 100}%` }}
              onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
              onPointerMove={(event) => drag(index, event)}
              onKeyDown={(event) => byKey(index, event)}
            />
          );
        })}
      </div>
      <div className={classes.typed}>
        {cut.borders.map((border, index) => (
          <BorderInput
            key={between(index)}
            label={between(index)}
            border={border}
            room={roomOf(cut, index)}
            refused={refusedAt(index)}
            onTyped={(to) => {
              if (fits(to, roomOf(cut, index))) move(index, to);
              else setRefused({ cut, typed: { ...typed, [index]: to } });
            }}
          />
        ))}
      </div>
    </>
  );
}

interface BorderInputProps {
  readonly label: string;
  readonly border: number;
  readonly room: Room;
  /** What was typed and cannot be the border. */
  readonly refused: number | string | null;
  readonly onTyped: (to: number | string) => void;
}

function BorderInput({ label, border, room: { lo, hi }, refused, onTyped }: BorderInputProps) {
  return (
    <NumberInput
      label={label}
      value={refused ?? border}
      error={refused !== null && `must be from ${lo} to ${hi}`}
      step={STEP}
      clampBehavior="none"
      allowDecimal={false}
      onChange={onTyped}
    />
  );
}

type Room = ReturnType<typeof roomOf>;

function fits(to: number | string, { lo, hi }: Room): to is number {
  return typeof to === 'number' && to >= lo && to <= hi;
}
