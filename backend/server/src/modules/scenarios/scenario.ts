import type { FieldError, Role, Scenario, ScenarioFigure, ScenarioParameters, ScenarioPlot } from '@orrery/contract';
import { z } from 'zod';
import { invalid, parseOrRefuse } from '../../platform/problem.js';
import type { Api } from './api-caller.js';
import type { Kind } from './kinds.js';
import type { Need } from './needs.js';

/** What a step of a scenario can do; everything it creates is removed at the end. */
export interface Stage {
  readonly api: Api;
  /** Aborted when the run must stop: waits end immediately. */
  readonly signal: AbortSignal;
  readonly started_ms: number;
  /** Describes the running step; `progress` is the completed share, 0 to 1. */
  note(detail: string, progress?: number): void;
  figure(figure: z.input<typeof ScenarioFigure>): void;
  plot(plot: ScenarioPlot): void;
  /** Creates something that is removed after the run, whatever its outcome; returns its id. */
  make(kind: Kind, request: unknown): Promise<string>;
  /** Polls until there is a value. Throws after `seconds`, naming `what`, and when the run must stop. */
  until<T>(what: string, seconds: number, probe: () => Promise<T | null>): Promise<T>;
  /** Waits and shows the progress. Throws when the run must stop. */
  wait(seconds: number, detail: string): Promise<void>;
}

export interface ScenarioStep {
  readonly title: string;
  run(stage: Stage): Promise<void>;
}

/** A scenario as its folder declares it. */
interface Declared<P extends z.ZodObject> extends Omit<Scenario, 'needs' | 'parameters' | 'role'> {
  /** Of its session, and the least that may run it; absent: designer. */
  readonly role?: Role;
  /** Scalars, each with a default and a description. */
  readonly parameters: P;
  /** Parameters that contradict each other. */
  faults?(parameters: z.output<P>): FieldError[];
  /** Checked before the run starts, which requires all of them. */
  needs(parameters: z.output<P>): readonly Need[];
  /** New steps with their own state for each run. */
  steps(parameters: z.output<P>): ScenarioStep[];
}

/** A scenario with its parameters applied. */
export interface Script {
  readonly parameters: ScenarioParameters;
  readonly needs: readonly Need[];
  readonly steps: readonly ScenarioStep[];
}

export interface ScenarioKind {
  readonly scenario: Scenario;
  /** Throws 422 that names each invalid parameter. */
  script(parameters: ScenarioParameters): Script;
}

export function defineScenario<P extends z.ZodObject>(declared: Declared<P>): ScenarioKind {
  const { parameters, faults, needs, steps, role = 'designer', ...scenario } = declared;
  const Body = z.strictObject({ parameters: z.strictObject(parameters.shape) });
  const read = (values: ScenarioParameters) => parseOrRefuse(Body, { parameters: values }).parameters as z.output<P>;
  const { $schema: _dialect, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
  return {
    scenario: { ...scenario, role, needs: needs(read({})).map(({ title }) => title), parameters: schema },
    script: (values) => {
      const all = read(values);
      const found = faults?.(all) ?? [];
      if (found.length > 0) throw invalid(found);
      return { parameters: all as ScenarioParameters, needs: needs(all), steps: steps(all) };
    },
  };
}
