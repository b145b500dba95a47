import type { ScenarioFigure, ScenarioRun } from '@orrery/contract';
import { countText } from '../format/number.js';

/** Of numbers that say what they are by their name. */
const UNSAID: ReadonlySet<string> = new Set(['ratio', 'count']);

/** A figure with three significant digits, as published tables have them, and its unit. */
export function figureText(value: number | null, unit: string): string {
  if (value === null) return '–';
  const digits = Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3));
  return `${countText(digits)}${unit && !UNSAID.has(unit) ? ` ${unit}` : ''}`;
}

/** `1.04×`: result here relative to the published one. */
export function ratioText({ published, here }: Pick<ScenarioFigure, 'published' | 'here'>): string {
  if (published === null || here === null || published === 0) return '–';
  const ratio = here / published;
  return ratio !== 0 && ratio < 0.01 ? '< 0.01×' : `${Number(ratio.toPrecision(3))}×`;
}

/** `0.9 to 1.1`, `at most 7 s`, `2 NFs` where it must be just that; empty without a bar. */
export function barText({ bar, unit }: Pick<ScenarioFigure, 'bar' | 'unit'>): string {
  if (!bar) return '';
  const { least, most } = bar;
  if (least === null) return most === null ? '' : `at most ${figureText(most, unit)}`;
  if (least === most) return figureText(least, unit);
  return most === null
    ? `at least ${figureText(least, unit)}`
    : `${figureText(least, '')} to ${figureText(most, unit)}`;
}

/** Caveats of a figure. */
export function originText({ modelled, note, here }: Pick<ScenarioFigure, 'modelled' | 'note' | 'here'>): string {
  const how = here === null ? 'not measured' : modelled ? 'modelled' : 'measured';
  return `${how}${note && `: ${note}`}`;
}

/** What a figure is beside its bar. */
export function judgementOf({ here, pass }: Pick<ScenarioFigure, 'here' | 'pass'>): string {
  if (here === null) return 'not measured';
  return pass ? 'met' : 'violated';
}

/** `4 of 9 bars missed` by a run that completed; null: none. */
export function missedText({ state, figures }: Pick<ScenarioRun, 'state' | 'figures'>): string | null {
  const judged = figures.filter(({ bar }) => bar !== null).map(judgementOf);
  const missed = judged.filter((each) => each === 'violated').length;
  const open = judged.filter((each) => each === 'not measured').length;
  if (state !== 'completed' || missed + open === 0) return null;
  const bars = judged.length === 1 ? 'bar' : 'bars';
  if (missed === 0) return `${open} of ${judged.length} ${bars} not measured`;
  return `${missed} of ${judged.length} ${bars} missed${open > 0 ? `, ${open} not measured` : ''}`;
}
