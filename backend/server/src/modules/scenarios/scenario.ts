import type { Scenario, ScenarioFigure } from '@orrery/contract';
import type { Api } from './api-caller.js';
import type { Kind } from './kinds.js';

/** What a step of a running scenario can do; everything that it makes is taken away at the end. */
export interface Stage {
  readonly api: Api;
  /** Aborted when the run is to stop: waits end at once. */
  readonly signal: AbortSignal;
  /** Tells of the step that runs. */
  note(detail: string): void;
  figure(figure: ScenarioFigure): void;
  /** Makes something that is taken away after the run, whatever becomes of it; gives its id. */
  make(kind: Kind, request: unknown): Promise<string>;
  /** Polls until there is a value. Throws after `seconds`, saying what did not happen, and when the run is to stop. */
  until<T>(what: string, seconds: number, probe: () => Promise<T | null>): Promise<T>;
}

export interface ScenarioStep {
  readonly title: string;
  run(stage: Stage): Promise<void>;
}

export interface ScenarioScript {
  readonly scenario: Scenario;
  /** Fresh steps with their own memory for each run. */
  steps(): ScenarioStep[];
}
