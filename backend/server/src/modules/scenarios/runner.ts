import { Inject, Injectable } from '@nestjs/common';
import type { ScenarioParameters, ScenarioReport, ScenarioRun, SessionInfo } from '@orrery/contract';
import { mayAct } from '../../platform/auth.js';
import { newId } from '../../platform/ids.js';
import { conflict, notFound, ProblemError, unavailable } from '../../platform/problem.js';
import { ApiCaller, Unavailable } from './api-caller.js';
import { missingOf, type Need } from './needs.js';
import { ScenarioRecords } from './records.js';
import { SCENARIOS } from './registry.js';
import { ScenarioLoop } from './scenario-loop.js';

type Caller = Pick<SessionInfo, 'name' | 'role'>;

/** Accepts runs of scenarios: checks parameters and needs, then stores the run; the loop does the rest. */
@Injectable()
export class ScenarioRunner {
  constructor(
    @Inject(ApiCaller) private readonly caller: ApiCaller,
    @Inject(ScenarioRecords) private readonly records: ScenarioRecords,
    @Inject(ScenarioLoop) private readonly loop: ScenarioLoop,
  ) {}

  all(): readonly ScenarioRun[] {
    return this.records.all().map((run) => withoutPlots(this.loop.now(run.id) ?? run));
  }

  get(id: string): ScenarioReport {
    const run = this.loop.now(id) ?? this.records.find(id);
    if (!run) throw notFound('scenario run', id);
    return run;
  }

  /** Nothing is started if the caller may not run it, a parameter is invalid or a need is not met. */
  async start(scenarioId: string, values: ScenarioParameters, caller: Caller): Promise<ScenarioRun> {
    const kind = SCENARIOS.find(({ scenario }) => scenario.id === scenarioId);
    if (!kind) throw notFound('scenario', scenarioId);
    const { role } = kind.scenario;
    if (!mayAct(caller.role, role))
      throw new ProblemError(403, `This scenario needs the role ${role}; the session has ${caller.role}.`);
    const { parameters, needs, steps } = kind.script(values);
    this.loop.requireIdle();
    await this.requireAll(needs);
    this.loop.requireIdle();
    const { title, source } = kind.scenario;
    const run: ScenarioReport = {
      id: newId('sr'),
      scenario_id: scenarioId,
      title,
      source,
      parameters,
      by: caller.name,
      state: 'running',
      steps: steps.map((step) => ({
        title: step.title,
        state: 'pending',
        progress: null,
        started_ms: null,
        ended_ms: null,
        detail: null,
      })),
      figures: [],
      plots: [],
      chains: [],
      detail: null,
      started_ms: Date.now(),
      ended_ms: null,
    };
    await this.loop.begin(run, steps, role);
    return withoutPlots(run);
  }

  async stop(id: string, by: string): Promise<void> {
    this.get(id);
    if (!(await this.loop.stop(id, by))) throw notFound('running scenario', id);
  }

  private async requireAll(needs: readonly Need[]): Promise<void> {
    try {
      const api = await this.caller.as('scenarios', 'designer');
      const missing = await missingOf(needs, api).finally(() => this.loop.release(api));
      if (missing.length === 0) return;
      const errors = missing.map((detail) => ({ pointer: '', detail, code: 'not-available' }));
      throw conflict(`The scenario cannot run now: ${missing.join('; ')}.`, errors);
    } catch (error) {
      throw error instanceof Unavailable ? unavailable(error.message) : error;
    }
  }
}

/** As in lists. */
function withoutPlots({ title: _title, source: _source, plots: _plots, ...run }: ScenarioReport): ScenarioRun {
  return run;
}
