import type { ScenarioFigure, ScenarioRun } from '@orrery/contract';

/** Part of the steps that need nothing more. */
export function runShare({ steps }: Pick<ScenarioRun, 'steps'>): number {
  const done = steps.filter(({ state }) => state === 'done' || state === 'skipped').length;
  return steps.length === 0 ? 0 : done / steps.length;
}

/** A figure with three significant digits, as published tables have them, and its unit. */
export function figureText(value: number | null, unit: string): string {
  if (value === null) return '–';
  const digits = Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3));
  return `${digits.toLocaleString()}${unit && ` ${unit}`}`;
}

/** `1.04×`: what was found here against what was published. */
export function ratioText({ published, here }: Pick<ScenarioFigure, 'published' | 'here'>): string {
  if (published === null || here === null || published === 0) return '–';
  const ratio = here / published;
  return ratio !== 0 && ratio < 0.01 ? '< 0.01×' : `${Number(ratio.toPrecision(3))}×`;
}

/** The run that is shown under a scenario: the newest of its own. */
export function newestRun(runs: readonly ScenarioRun[], scenarioId: string): ScenarioRun | undefined {
  return runs
    .filter(({ scenario_id }) => scenario_id === scenarioId)
    .reduce<ScenarioRun | undefined>(
      (newest, run) => (newest && newest.started_ms >= run.started_ms ? newest : run),
      undefined,
    );
}
