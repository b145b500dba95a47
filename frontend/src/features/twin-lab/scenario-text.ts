import type { Scenario, ScenarioRun } from '@orrery/contract';

/** `90 s`, `5 min` */
export function aboutText(duration_s: number): string {
  return duration_s < 120 ? `${Math.round(duration_s)} s` : `${Math.round(duration_s / 60)} min`;
}

/** Share of completed steps. */
export function runShare({ steps }: Pick<ScenarioRun, 'steps'>): number {
  const done = steps.filter(({ state }) => state === 'done' || state === 'skipped').length;
  return steps.length === 0 ? 0 : done / steps.length;
}

/** What a run that is not over does once its steps are; null while they are in progress. */
export function cleaningText({ state, steps }: Pick<ScenarioRun, 'state' | 'steps'>): string | null {
  if (state !== 'running' || steps.length === 0) return null;
  if (steps.some((step) => step.state === 'skipped')) return 'stopping, removing what it made';
  const isDone = steps.some((step) => step.state === 'failed') || steps.every((step) => step.state === 'done');
  return isDone ? 'removing what it made' : null;
}

/** Why a scenario cannot be started now; null: it can. */
export function whyNotRun(
  needs: string | null,
  scenarios: readonly Scenario[],
  runs: readonly ScenarioRun[],
): string | null {
  if (needs !== null) return needs;
  const running = runs.find(({ state }) => state === 'running');
  if (!running) return null;
  return `“${titleOf(scenarios, running)}” is running: one scenario runs at a time`;
}

export function titleOf(scenarios: readonly Scenario[], { scenario_id }: Pick<ScenarioRun, 'scenario_id'>): string {
  return scenarios.find(({ id }) => id === scenario_id)?.title ?? scenario_id;
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
