import { Controller, Inject, Res } from '@nestjs/common';
import { API_PREFIX, type Reconfiguration, type RouteInput, type SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../../platform/paging.js';
import { notFound } from '../../../platform/problem.js';
import { Caller, Gone, Input, Route } from '../../../platform/route.js';
import { RECONFIGURER, type Reconfigurer } from '../../../ports/reconfigurer.js';
import { Records } from '../records/records.js';
import { causeOf } from './cause.js';
import { SlotOffers } from './slot-offers.js';

@Controller()
export class ReconfigurationsController {
  constructor(
    @Inject(Records) private readonly records: Records,
    @Inject(RECONFIGURER) private readonly reconfigurer: Reconfigurer,
    @Inject(SlotOffers) private readonly offers: SlotOffers,
  ) {}

  @Route('listReconfigurations')
  list(@Input() { query }: RouteInput<'listReconfigurations'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.records.all().filter(({ state }) => !query.state || state === query.state);
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('getReconfiguration')
  get(@Input() { params }: RouteInput<'getReconfiguration'>): Reconfiguration {
    const run = this.records.find(params.id);
    if (!run) throw notFound('reconfiguration', params.id);
    return run;
  }

  @Route('listSlotOffers')
  async slots(@Input() { query }: RouteInput<'listSlotOffers'>, @Gone() gone: AbortSignal) {
    const { chain_id, node_id, load, ...only } = query;
    const nf = chain_id && node_id ? { chain_id, node_id } : null;
    return { items: await this.offers.of({ nf, load, only }, gone) };
  }

  @Route('createReconfiguration')
  async create(
    @Input() { body }: RouteInput<'createReconfiguration'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Reconfiguration> {
    const cause = causeOf('manual', `requested by ${caller.name}`, caller.name);
    const run = await this.reconfigurer.request(body, cause);
    reply.header('location', `${API_PREFIX}/reconfigurations/${run.id}`);
    return run;
  }
}
