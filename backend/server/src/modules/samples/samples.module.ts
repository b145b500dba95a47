import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { nfInstances, type RouteInput, type Series } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { Input, Route } from '../../platform/route.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { NF_LOADS } from '../../ports/nf-loads.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TELEMETRY, TELEMETRY_SINK, type Telemetry } from '../../ports/telemetry.js';
import { MeasuredNfLoads } from './nf-loads.js';
import { SamplesService } from './samples.service.js';

@Controller()
class SamplesController {
  constructor(
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
  ) {}

  @Route('listSamples')
  list(@Input() { query }: RouteInput<'listSamples'>): { items: Series[]; total: number } {
    const items = this.telemetry.series(query.keys.split(',').filter(Boolean), query.since ?? 0);
    return { items, total: items.length };
  }

  @Route('listCounters')
  counters(@Input() { query }: RouteInput<'listCounters'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { plan } = this.view;
    const running = [...nfInstances(plan?.graph), ...(plan?.on_switches ?? [])];
    const owner = new Map(running.map(({ id, chain_id }) => [id, chain_id]));
    // Those of a server or switch that is not connected are out of date.
    const chosen = this.telemetry
      .counters((id) => this.fleet.isConnected(id))
      .filter(({ instance_id }) => !query.chain_id || owner.get(instance_id) === query.chain_id);
    return pageOf(chosen, query, ({ instance_id }) => instance_id, reply);
  }
}

@Global()
@Module({
  controllers: [SamplesController],
  providers: [
    SamplesService,
    { provide: TELEMETRY, useExisting: SamplesService },
    { provide: TELEMETRY_SINK, useExisting: SamplesService },
    { provide: NF_LOADS, useClass: MeasuredNfLoads },
  ],
  exports: [TELEMETRY, TELEMETRY_SINK, NF_LOADS],
})
export class SamplesModule {}
