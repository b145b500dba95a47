import { NumberInput } from '@mantine/core';
import { FLOW_SPACE } from '@orrery/contract';
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import { colourOf } from '../plan/range-bar.js';
import { type Cut, rangesOf, roomOf, withBorder } from './range-edits.js';
import classes from './splits.module.css';

interface RangeEditorProps {
  /** By ordinal. */
  readonly instances: readonly string[];
  readonly cut: Cut;
  readonly onChange: (cut: Cut) => void;
}

/** Identities by which a key moves a border; with Shift sixteen times as many. */
const STEP = 256;

/** The ranges of an NF's instances, with borders to drag, to move by keys, or to type. */
export function RangeEditor({ instances, cut, onChange }: RangeEditorProps) {
  const bar = useRef<HTMLDivElement>(null);
  const ranges = rangesOf(cut);
  const between = (index: number) =>
    `Border between ${instances[cut.order[index]!]} and ${instances[cut.order[index + 1]!]}`;
  const move = (index: number, to: number) => onChange(withBorder(cut, index, to));
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
            onMove={(to) => move(index, to)}
          />
        ))}
      </div>
    </>
  );
}

interface BorderInputProps {
  readonly label: string;
  readonly border: number;
  readonly room: { readonly lo: number; readonly hi: number };
  readonly onMove: (to: number) => void;
}

/** What cannot be the border is refused while it is typed, and gone when the field is left. */
function BorderInput({ label, border, room: { lo, hi }, onMove }: BorderInputProps) {
  const [refused, setRefused] = useState<number | string | null>(null);
  return (
    <NumberInput
      label={label}
      value={refused ?? border}
      error={refused !== null && `must be from ${lo} to ${hi}`}
      step={STEP}
      clampBehavior="none"
      allowDecimal={false}
      onChange={(to) => {
        const fits = typeof to === 'number' && to >= lo && to <= hi;
        setRefused(fits ? null : to);
        if (fits) onMove(to);
      }}
      onBlur={() => setRefused(null)}
    />
  );
}
