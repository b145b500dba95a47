import { Controller, Inject, Res } from '@nestjs/common';
import {
  API_PREFIX,
  FLOW_SPACE,
  type Operation,
  type PlannedSplit,
  type RouteInput,
  type SampleMetric,
  type SessionInfo,
  type Split,
  sampleKey,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { notFound } from '../../platform/problem.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { SPLIT_HANDOVERS, type SplitHandovers } from '../../ports/split-handovers.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { DeploymentsService } from './deployments.service.js';
import { splitRevision } from './split-revision.js';

/** A figure that is older is not a live one. */
const LIVE_MS = 3000;

/** How the flows of NFs are split over their instances (E2 3.4.4). */
@Controller()
export class SplitsController {
  constructor(
    @Inject(DeploymentsService) private readonly service: DeploymentsService,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(SPLIT_HANDOVERS) private readonly handovers: SplitHandovers,
  ) {}

  @Route('listSplits')
  list(@Input() { params, query }: RouteInput<'listSplits'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.splitsOf(params.chain_id), query, ({ node_id }) => node_id, reply);
  }

  @Route('getSplit')
  get(@Input() { params }: RouteInput<'getSplit'>, @Res({ passthrough: true }) reply: FastifyReply): Split {
    const split = this.splitsOf(params.chain_id).find(({ node_id }) => node_id === params.node_id);
    if (!split) throw notFound('split of NF', params.node_id);
    reply.header('etag', etagOf(splitRevision(split, split.staged)));
    return split;
  }

  @Route('putSplit')
  async put(
    @Input() { params, body }: RouteInput<'putSplit'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    const operation = await this.service.split(params.chain_id, params.node_id, body, ifMatch, caller);
    reply.header('location', `${API_PREFIX}/operations/${operation.id}`);
    return operation;
  }

  private splitsOf(chainId: string): Split[] {
    if (!this.view.deployment(chainId)) throw notFound('deployment of chain', chainId);
    const { splits = [], chains = [] } = this.view.plan ?? {};
    const chain = chains.find(({ chain_id }) => chain_id === chainId);
    return splits
      .filter(({ chain_id }) => chain_id === chainId)
      .map((split) => {
        const staged = chain?.splits?.find(({ node_id }) => node_id === split.node_id)?.staged;
        const handover = this.handovers.progressOf(chainId, split.node_id);
        return {
          ...this.measured(split, chain?.definition.name ?? ''),
          ...(staged ? { staged } : {}),
          ...(handover ? { handover } : {}),
        };
      });
  }

  private measured(split: PlannedSplit, chain: string): Split {
    const ofInstance = (id: string, metric: SampleMetric<'instance'>) =>
      this.telemetry.newest(sampleKey('instance', id, metric), LIVE_MS);
    const ofNf = (metric: SampleMetric<'nf'>) =>
      this.telemetry.newest(sampleKey('nf', `${chain}.${split.node_id}`, metric), LIVE_MS);
    const rates = split.targets.map(({ instance_id }) => ofInstance(instance_id, 'split_pps'));
    const all = rates.reduce<number>((sum, pps) => sum + (pps ?? 0), 0);
    return {
      ...split,
      targets: split.targets.map((target, i) => {
        const pps = rates[i]!;
        return {
          ...target,
          share: (target.range.hi - target.range.lo) / FLOW_SPACE,
          pps,
          live_share: pps === null || all === 0 ? null : pps / all,
          flows: ofInstance(target.instance_id, 'flows'),
          exceptions: ofInstance(target.instance_id, 'exceptions'),
        };
      }),
      untracked_pps: ofNf('untracked_pps'),
      displaced_per_s: ofNf('displaced_per_s'),
    };
  }
}
