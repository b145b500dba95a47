import type { ScenarioRun } from '@orrery/contract';

/** `90 s`, `5 min` */
export function aboutText(duration_s: number): string {
  return duration_s < 120 ? `${Math.round(duration_s)} s` : `${Math.round(duration_s / 60)} min`;
}

/** Share of completed steps. */
export function runShare({ steps }: Pick<ScenarioRun, 'steps'>): number {
  const done = steps.filter(({ state }) => state === 'done' || state === 'skipped').length;
  return steps.length === 0 ? 0 : done / steps.length;
}

/** The newest run of a scenario for which `counts` is true. */
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
