import { Controller, Inject, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type PlacementAdvice,
  type RouteInput,
  type SessionInfo,
  type UpkeepPolicy,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { UpkeepRecords } from './records.js';
import { UpkeepLoop } from './upkeep-loop.js';

@Controller()
export class UpkeepController {
  constructor(
    @Inject(UpkeepRecords) private readonly records: UpkeepRecords,
    @Inject(UpkeepLoop) private readonly loop: UpkeepLoop,
  ) {}

  @Route('getUpkeepPolicy')
  policy(@Res({ passthrough: true }) reply: FastifyReply): UpkeepPolicy {
    const { id: _id, ...policy } = this.records.policy;
    const revision = this.records.policyRevision;
    reply.header('etag', etagOf(revision));
    return { ...policy, revision };
  }

  @Route('putUpkeepPolicy')
  async replace(
    @Input() { body }: RouteInput<'putUpkeepPolicy'>,
    @IfMatch() given: Precondition,
    @Caller() { name }: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UpkeepPolicy> {
    const ifMatch = requireRead(given, 'upkeep policy', this.records.policyRevision);
    await this.records.replacePolicy(body, ifMatch, name);
    return this.policy(reply);
  }

  @Route('getPlacementAdvice')
  advice(@Res({ passthrough: true }) reply: FastifyReply): PlacementAdvice {
    const advice = this.loop.advice();
    reply.header('etag', etagOf(advice.revision));
    return advice;
  }

  @Route('applyPlacementAdvice')
  async apply(
    @IfMatch() given: Precondition,
    @Caller() { name }: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PlacementAdvice> {
    const ifMatch = requireRead(given, 'placement advice', this.records.adviceRevision);
    const { id } = await this.loop.apply(name, ifMatch);
    reply.header('location', `${API_PREFIX}/operations/${id}`);
    return this.advice(reply);
  }

  @Route('dismissPlacementAdvice')
  async dismiss(
    @Input() { body }: RouteInput<'dismissPlacementAdvice'>,
    @IfMatch() given: Precondition,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PlacementAdvice> {
    const ifMatch = requireRead(given, 'placement advice', this.records.adviceRevision);
    await this.records.dismiss(body.hours, ifMatch);
    return this.advice(reply);
  }
}
