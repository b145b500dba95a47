import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { API_PREFIX, type RouteInput, type ScenarioReport, type ScenarioRun, type SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { SCENARIO_VIEW } from '../../ports/scenario-view.js';
import { ApiCaller } from './api-caller.js';
import { Ledger } from './ledger.js';
import { ScenarioRecords } from './records.js';
import { SCENARIOS } from './registry.js';
import { ScenarioRunner } from './runner.js';
import { ScenarioLoop } from './scenario-loop.js';
import { Sweeper } from './sweeper.js';

@Controller()
class ScenariosController {
  constructor(@Inject(ScenarioRunner) private readonly runner: ScenarioRunner) {}

  @Route('listScenarios')
  list(@Input() { query }: RouteInput<'listScenarios'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const scenarios = SCENARIOS.map(({ scenario }) => scenario);
    return pageOf(scenarios, query, ({ id }) => id, reply);
  }

  @Route('startScenario')
  async start(
    @Input() { params, body }: RouteInput<'startScenario'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ScenarioRun> {
    const run = await this.runner.start(params.id, body.parameters, caller);
    reply.header('location', `${API_PREFIX}/scenario-runs/${run.id}`);
    return run;
  }

  @Route('listScenarioRuns')
  runs(@Input() { query }: RouteInput<'listScenarioRuns'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.runner.all(), query, ({ id }) => id, reply);
  }

  @Route('getScenarioRun')
  get(@Input() { params }: RouteInput<'getScenarioRun'>): ScenarioReport {
    return this.runner.get(params.id);
  }

  @Route('stopScenarioRun')
  stop(@Input() { params }: RouteInput<'stopScenarioRun'>, @Caller() caller: SessionInfo): Promise<void> {
    return this.runner.stop(params.id, caller.name);
  }
}

@Global()
@Module({
  controllers: [ScenariosController],
  providers: [
    ApiCaller,
    Ledger,
    Sweeper,
    ScenarioRecords,
    { provide: SCENARIO_VIEW, useExisting: ScenarioRecords },
    ScenarioLoop,
    ScenarioRunner,
  ],
  exports: [SCENARIO_VIEW],
})
export class ScenariosModule {}
