import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type Deployment,
  type NfInstance,
  nfInstances,
  type Operation,
  type RouteInput,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { notFound } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { DEPLOYER } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { Convergence } from './convergence.js';
import { DeploymentHealth } from './deployment-health.js';
import { DeploymentsService } from './deployments.service.js';
import { DesiredStore } from './desired-store.js';
import { FirstPacket } from './first-packet.js';
import { OperationControl } from './operation-control.js';
import { Reconciler } from './reconciler.js';
import { Replanner } from './replanner.js';
import { StateMigration } from './state-migration.js';

@Controller()
class DeploymentsController {
  constructor(
    @Inject(DeploymentsService) private readonly service: DeploymentsService,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  @Route('listDeployments')
  list(@Input() { query }: RouteInput<'listDeployments'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.view.deployments().filter(({ state }) => !query.state || state === query.state);
    return pageOf(chosen, query, ({ chain_id }) => chain_id, reply);
  }

  @Route('createDeployment')
  async create(
    @Input() { body }: RouteInput<'createDeployment'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    return located(await this.service.deploy(body, caller), reply);
  }

  @Route('getDeployment')
  get(@Input() { params }: RouteInput<'getDeployment'>): Deployment {
    const deployment = this.view.deployment(params.chain_id);
    if (!deployment) throw notFound('deployment of chain', params.chain_id);
    return deployment;
  }

  @Route('deleteDeployment')
  async delete(
    @Input() { params }: RouteInput<'deleteDeployment'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    return located(await this.service.undeploy(params.chain_id, caller), reply);
  }
}

function located(operation: Operation, reply: FastifyReply): Operation {
  reply.header('location', `${API_PREFIX}/operations/${operation.id}`);
  return operation;
}

@Controller()
class OperationControlController {
  constructor(@Inject(OperationControl) private readonly control: OperationControl) {}

  @Route('cancelOperation')
  async cancel(
    @Input() { params }: RouteInput<'cancelOperation'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    return located(await this.control.cancel(params.id, caller.name), reply);
  }

  @Route('retryOperation')
  async retry(
    @Input() { params }: RouteInput<'retryOperation'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    return located(await this.control.retry(params.id, caller.name), reply);
  }

  @Route('rollbackOperation')
  async rollBack(
    @Input() { params }: RouteInput<'rollbackOperation'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    return located(await this.control.rollBack(params.id, caller.name), reply);
  }
}

@Controller()
class NfInstancesController {
  constructor(
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
  ) {}

  @Route('listNfInstances')
  list(@Input() { query }: RouteInput<'listNfInstances'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.all().filter(
      (instance) =>
        (!query.chain_id || instance.chain_id === query.chain_id) &&
        (!query.server || instance.server === query.server) &&
        (!query.nf || instance.nf === query.nf) &&
        (!query.state || instance.state === query.state),
    );
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('getNfInstanceState')
  async state(@Input() { params, query }: RouteInput<'getNfInstanceState'>) {
    const instance = this.all().find(({ id }) => id === params.id);
    if (!instance) throw notFound('NF instance', params.id);
    const state = await this.fleet.call(instance.server, 'get_instance_state', instance.id, { limit: query.limit });
    return { instance_id: instance.id, state };
  }

  private all(): NfInstance[] {
    return nfInstances(this.view.plan?.graph).map((instance) => {
      const { id, chain_id, node_id, nf, driver, board, server, core } = instance;
      const observed = this.fleet.observed(server)?.instances.find((each) => each.id === id);
      const known = this.fleet.isConnected(server);
      return {
        id,
        chain_id,
        node_id,
        nf,
        driver,
        slot: board ? { board: board.board, slot: board.slot } : null,
        server,
        core,
        state: known ? (observed?.state ?? 'pending') : 'unknown',
        detail: known ? (observed?.detail ?? null) : 'its agent is not connected',
        origin: this.fleet.originOf(server),
      };
    });
  }
}

@Global()
@Module({
  controllers: [DeploymentsController, OperationControlController, NfInstancesController],
  providers: [
    DesiredStore,
    { provide: DEPLOYMENT_VIEW, useExisting: DesiredStore },
    DeploymentsService,
    { provide: DEPLOYER, useExisting: DeploymentsService },
    StateMigration,
    OperationControl,
    Convergence,
    Replanner,
    Reconciler,
    DeploymentHealth,
    FirstPacket,
  ],
  exports: [DEPLOYMENT_VIEW, DEPLOYER],
})
export class DeploymentsModule {}
