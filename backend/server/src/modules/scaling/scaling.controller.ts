import { Controller, Inject, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type Operation,
  type RouteInput,
  type Scaling,
  type ScalingPreview,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { conflict } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { ScalingConductor } from './conductor.js';
import { Scaler } from './scaler.js';
import { ScalingLoop } from './scaling-loop.js';
import { Scalings } from './scalings.js';

@Controller()
export class ScalingController {
  constructor(
    @Inject(Scaler) private readonly scaler: Scaler,
    @Inject(Scalings) private readonly scalings: Scalings,
    @Inject(ScalingConductor) private readonly conductor: ScalingConductor,
    @Inject(ScalingLoop) private readonly loop: ScalingLoop,
  ) {}

  @Route('scaleDeployment')
  async scale(
    @Input() { params, body }: RouteInput<'scaleDeployment'>,
    @Caller() { name }: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    const operation = await this.scaler.begin(wishOf({ params, body }, name));
    this.loop.wake();
    reply.header('location', `${API_PREFIX}/operations/${operation.id}`);
    return operation;
  }

  @Route('previewScaling')
  preview(
    @Input() { params, body }: RouteInput<'previewScaling'>,
    @Caller() { name }: SessionInfo,
  ): Promise<ScalingPreview> {
    return this.scaler.preview(wishOf({ params, body }, name));
  }

  @Route('listScalings')
  list(@Input() { query }: RouteInput<'listScalings'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { chain_id, state } = query;
    const found = this.scalings
      .all()
      .filter(
        (it) => (chain_id === undefined || it.nf.chain_id === chain_id) && (state === undefined || it.state === state),
      );
    return pageOf(found, query, ({ id }) => id, reply);
  }

  @Route('getScaling')
  get(@Input() { params }: RouteInput<'getScaling'>): Scaling {
    return this.scalings.get(params.id);
  }

  @Route('cancelScaling')
  async cancel(@Input() { params }: RouteInput<'cancelScaling'>, @Caller() { name }: SessionInfo): Promise<Scaling> {
    const cancelled = await this.conductor.cancel(this.scalings.get(params.id), name);
    if (!cancelled) throw conflict('It does not wait for flows: cancel its operation, or scale again when it is over.');
    this.loop.wake();
    return cancelled;
  }
}

/** By hand. */
function wishOf({ params: { chain_id }, body }: Pick<RouteInput<'scaleDeployment'>, 'params' | 'body'>, by: string) {
  const { node_id, ...wish } = body;
  return { ...wish, nf: { chain_id, node_id }, cause: 'asked for', policy_id: null, by };
}
