import type { ScenarioFigure, ScenarioRun } from '@orrery/contract';

/** `90 s`, `5 min` */
export function aboutText(duration_s: number): string {
  return duration_s < 120 ? `${Math.round(duration_s)} s` : `${Math.round(duration_s / 60)} min`;
}

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

/** The newest run of a scenario, of those that `counts`. */
export function newestRun(
  runs: readonly ScenarioRun[],
  scenarioId: string,
  counts: (run: ScenarioRun) => boolean = () => true,
): ScenarioRun | undefined {
  return runs
    .filter((run) => run.scenario_id === scenarioId && counts(run))
    .reduce<ScenarioRun | undefined>(
      (newest, run) => (newest && newest.started_ms >= run.started_ms ? newest : run),
      undefined,
    );
}
