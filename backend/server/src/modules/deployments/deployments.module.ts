import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type Deployment,
  InstanceFigures,
  InstanceLog,
  type NfInstance,
  nfInstances,
  type Operation,
  type RouteInput,
  type SessionInfo,
  type SwitchInstance,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { notFound, ProblemError } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { DEPLOYER } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { FABRIC_VIEW, type FabricView } from '../../ports/fabric-driver.js';
import { FLOW_MOVER } from '../../ports/flow-mover.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { Convergence } from './convergence.js';
import { DeploymentHealth } from './deployment-health.js';
import { DeploymentsService } from './deployments.service.js';
import { DesiredStore } from './desired-store.js';
import { FirstPacket } from './first-packet.js';
import { FlowMigrations } from './flow-migrations.js';
import { OperationControl } from './operation-control.js';
import { Reconciler } from './reconciler.js';
import { Replanner } from './replanner.js';
import { SplitsController } from './splits.controller.js';
import { StateMigration } from './state-migration.js';
import { SwitchDesire } from './switch-desire.js';

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
  constructor(
    @Inject(OperationControl) private readonly control: OperationControl,
    @Inject(FlowMigrations) private readonly migrations: FlowMigrations,
  ) {}

  @Route('cancelOperation')
  async cancel(
    @Input() { params }: RouteInput<'cancelOperation'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    const cancelled = await this.migrations.cancel(params.id, caller.name);
    return located(cancelled ?? (await this.control.cancel(params.id, caller.name)), reply);
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
    @Inject(FABRIC_VIEW) private readonly fabric: FabricView,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(FlowMigrations) private readonly migrations: FlowMigrations,
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
    // A switch keeps nothing beside the counters, which `listCounters` has.
    if (instance.driver === 'switch') return { instance_id: instance.id, figures: null, state: {} };
    const reply = await this.fleet.call(instance.server, 'get_instance_state', instance.id, { limit: query.limit });
    const { figures, ...state } = reply as Record<string, unknown>;
    const parsed = InstanceFigures.safeParse(figures);
    return { instance_id: instance.id, figures: parsed.success ? this.withCells(instance, parsed.data) : null, state };
  }

  @Route('getNfInstanceLog')
  async log(@Input() { params, query }: RouteInput<'getNfInstanceLog'>) {
    const instance = this.all().find(({ id }) => id === params.id);
    if (!instance) throw notFound('NF instance', params.id);
    if (instance.driver === 'switch')
      throw new ProblemError(404, `${instance.id} is entries of the switch ${instance.server}, which write no log.`);
    const told = InstanceLog.safeParse(await this.fleet.call(instance.server, 'read_log', instance.id, { ...query }));
    if (!told.success) throw new ProblemError(502, `The agent of ${instance.server} sent a log that cannot be read.`);
    return told.data;
  }

  /** What the module of an instance takes of its slot, as it was synthesized. */
  private withCells({ nf, driver }: NfInstance, figures: InstanceFigures): InstanceFigures {
    const taken = this.catalogue.find(nf)?.implementations.find((each) => each.driver === driver)?.resources;
    const resources = figures.resources.map((each) =>
      each.unit === 'cells' ? { ...each, used: taken?.[each.resource] ?? null } : each,
    );
    return { ...figures, resources };
  }

  @Route('migrateNfInstance')
  async migrate(
    @Input() { params, body }: RouteInput<'migrateNfInstance'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Operation> {
    return located(await this.migrations.begin(params.id, body, caller.name), reply);
  }

  @Route('previewMigration')
  previewMigration(@Input() { params, body }: RouteInput<'previewMigration'>) {
    return this.migrations.preview(params.id, body);
  }

  private all(): NfInstance[] {
    return [...this.onServers(), ...(this.view.plan?.on_switches ?? []).map((instance) => this.onSwitch(instance))];
  }

  private onSwitch(instance: SwitchInstance): NfInstance {
    const { id, chain_id, node_id, nf, driver, switch: server } = instance;
    return {
      ...{ id, chain_id, node_id, nf, driver, slot: null, server, core: 0 },
      ...this.fabric.nfState(instance),
      origin: this.fleet.originOf(server),
    };
  }

  private onServers(): NfInstance[] {
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
  controllers: [DeploymentsController, SplitsController, OperationControlController, NfInstancesController],
  providers: [
    DesiredStore,
    { provide: DEPLOYMENT_VIEW, useExisting: DesiredStore },
    DeploymentsService,
    { provide: DEPLOYER, useExisting: DeploymentsService },
    StateMigration,
    FlowMigrations,
    { provide: FLOW_MOVER, useExisting: FlowMigrations },
    OperationControl,
    SwitchDesire,
    Convergence,
    Replanner,
    Reconciler,
    DeploymentHealth,
    FirstPacket,
  ],
  exports: [DEPLOYMENT_VIEW, DEPLOYER, FLOW_MOVER],
})
export class DeploymentsModule {}
