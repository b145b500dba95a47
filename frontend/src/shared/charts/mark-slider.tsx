import type { KeyboardEvent } from 'react';
import { type EventMark, markBeside, toldText } from './event-marks.js';
import classes from './time-series-chart.module.css';

interface MarkSliderProps {
  /** Of the chart. */
  readonly title: string;
  /** At least one. */
  readonly marks: readonly EventMark[];
  /** Time of the chosen mark; null: none is chosen. */
  readonly chosen_s: number | null;
  readonly onChoose: (t_s: number | null) => void;
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };

/** Over the chart, for keys and screen readers: goes from mark to mark, and says what happened there. */
export function MarkSlider({ title, marks, chosen_s, onChoose }: MarkSliderProps) {
  const at = marks.findIndex(({ t_s }) => t_s === chosen_s);
  const chosen = marks[at];
  const byKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Escape' && chosen) onChoose(null);
    else if (event.key === 'Home') onChoose(marks[0]!.t_s);
    else if (event.key === 'End') onChoose(marks.at(-1)!.t_s);
    else if (event.key in STEPS) onChoose(markBeside(marks, chosen_s, STEPS[event.key]!)?.t_s ?? null);
    else return;
    event.preventDefault();
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      className={classes.marks}
      aria-label={`Events of ${title}`}
      aria-valuemin={0}
      aria-valuemax={marks.length}
      aria-valuenow={at + 1}
      aria-valuetext={chosen ? toldText(chosen) : `${marks.length} marked, none chosen`}
      onKeyDown={byKey}
      onBlur={() => onChoose(null)}
    />
  );
}
