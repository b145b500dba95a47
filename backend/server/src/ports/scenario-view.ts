export const SCENARIO_VIEW = Symbol('ScenarioView');

/** Scenarios, for loops that leave what these measure alone. */
export interface ScenarioView {
  /** Id of the scenario that runs; null: none. */
  readonly running: string | null;
}
