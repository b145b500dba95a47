import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import type { JoinToken, NodeStatus, RouteInput, SessionInfo } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { invalid, notFound } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { CHAINS_ON_NODES } from '../../ports/chains-on-nodes.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { NODE_SHELLS } from '../../ports/node-shells.js';
import { SWITCH_FLEET } from '../../ports/switch-fleet.js';
import { AgentRegistry } from './agent-registry.js';
import { DesiredChains } from './desired-chains.js';
import { Fleet } from './fleet.js';

@Controller()
class NodesController {
  constructor(@Inject(FLEET) private readonly fleet: NodeFleet) {}

  @Route('listNodes')
  list(@Input() { query }: RouteInput<'listNodes'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.fleet.statuses().filter(({ state }) => !query.state || state === query.state);
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('getNode')
  get(@Input() { params }: RouteInput<'getNode'>): NodeStatus {
    const status = this.fleet.status(params.id);
    if (!status) throw notFound('node', params.id);
    return status;
  }

  @Route('createJoinToken')
  async join(
    @Input() { body: { node } }: RouteInput<'createJoinToken'>,
    @Caller() { name }: SessionInfo,
  ): Promise<JoinToken> {
    if (!this.fleet.isKnown(node))
      throw invalid([
        { pointer: '/node', detail: `the infrastructure has no server or switch "${node}"`, code: 'unknown-node' },
      ]);
    return this.fleet.issueJoinToken(node, name);
  }

  @Route('revokeCredential')
  async revoke(@Input() { params }: RouteInput<'revokeCredential'>, @Caller() { name }: SessionInfo): Promise<void> {
    await this.fleet.revokeCredential(params.id, name);
  }
}

@Global()
@Module({
  controllers: [NodesController],
  providers: [
    AgentRegistry,
    DesiredChains,
    { provide: CHAINS_ON_NODES, useExisting: DesiredChains },
    Fleet,
    { provide: FLEET, useExisting: Fleet },
    { provide: NODE_SHELLS, useExisting: Fleet },
    { provide: SWITCH_FLEET, useExisting: Fleet },
  ],
  exports: [CHAINS_ON_NODES, FLEET, NODE_SHELLS, SWITCH_FLEET],
})
export class NodesModule {}
