import { Inject, Injectable } from '@nestjs/common';
import {
  type NotKept,
  nfInstances,
  type RequestWay,
  type ServicePool,
  type SlotRef,
  sampleKey,
} from '@orrery/contract';
import {
  brokenWays,
  EntryRoom,
  type HeldClass,
  type HeldRequest,
  type NumberedWay,
  poolState,
  wayEdge,
  wayLatencies,
  waysOf,
} from '@orrery/planner';
import { CONFIG, type Config } from '../../platform/config.js';
import type { Pace } from '../../platform/pace.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { CALIBRATION, type CalibrationView } from '../../ports/calibration.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { NOT_KEPT_CHAINS, type NotKeptChains } from '../../ports/not-kept-chains.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { Presence } from './presence.js';
import { type HoldingRequest, isUnderWay, type StoredPool, type StoredRequest } from './stored.js';

/** A measurement that is older is not of now. */
const FRESH_MS = 3000;
/** Rounding of sums of latencies, relative. */
const ROUNDING = 1e-9;
/** A server is given up when its agent has been away for so many times the time after which it is stale. */
const STALE_TIMES = 5;

/** What pools and requests are and get at the moment. */
@Injectable()
export class PoolView {
  private readonly presence: Presence;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(DEPLOYMENT_VIEW) private readonly deployments: DeploymentView,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(CALIBRATION) private readonly calibration: CalibrationView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(SWITCH_FLEET) private readonly switches: SwitchFleet,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
    @Inject(NOT_KEPT_CHAINS) private readonly notKept: NotKeptChains,
  ) {
    this.presence = new Presence(STALE_TIMES * config.timing.agentStaleMs);
  }

  /** Whether something counts as working of which nothing is heard. */
  get isWaiting(): boolean {
    return this.presence.isWaiting(performance.now());
  }

  /** What requests can use; `taken`: slots that instances of pools have or are to get. */
  stateOf(pool: StoredPool, held: readonly HoldingRequest[], taken: readonly SlotRef[]) {
    const booked = bookedBy(held);
    const broken = this.boards.broken();
    const nowMs = performance.now();
    return poolState({
      pool: pool.definition,
      chain_id: pool.chain_id,
      instances: pool.instances,
      plan: this.deployments.plan,
      descriptors: this.catalogue.all(),
      infrastructure: this.infrastructure.current.infrastructure,
      calibration: this.calibration.current,
      works: (server, slot) =>
        !this.exclusions.lost_servers.includes(server) &&
        this.presence.works(server, this.fleet.isConnected(server), nowMs) &&
        !(slot && broken.some((it) => isSame(it, slot))),
      booked_bps: (id) => booked.get(id) ?? 0,
      measured: (id) => ({
        latency_us: this.telemetry.newest(sampleKey('instance', id, 'latency_p50_us'), FRESH_MS),
        bps: this.telemetry.newest(sampleKey('instance', id, 'bps'), FRESH_MS),
      }),
      free_slots: (nf) => this.freeSlots(nf, taken),
    });
  }

  /**
   * Ways that have a number: those that broken instances keep among them, and those that packets of late requests take, or may
   * take again.
   */
  waysOf(
    pool: StoredPool,
    held: readonly HoldingRequest[],
    works: (instance: string) => boolean,
    all: readonly HoldingRequest[] = held,
  ) {
    const kept = this.keptWays(pool, works);
    const taken = all.flatMap(({ state, way, former }) => [
      ...(state === 'late' ? [way] : []),
      ...(former ? [former] : []),
    ]);
    return { kept, ways: waysOf(pool.instances, held.map(heldRequest), [...kept, ...taken.map(numbered)]) };
  }

  private keptWays(pool: StoredPool, works: (instance: string) => boolean): NumberedWay[] {
    const running = this.deployedOf(pool);
    const known = new Set(pool.instances.map(({ id }) => id));
    return running ? brokenWays(running, works).filter(({ instances }) => instances.every((id) => known.has(id))) : [];
  }

  /** The pool's chain as it is to run. */
  deployedOf({ chain_id }: StoredPool) {
    return this.deployments.comingPlan?.chains.find((it) => it.chain_id === chain_id)?.definition;
  }

  isDeployed({ chain_id }: StoredPool): boolean {
    return this.deployments.deployment(chain_id) !== undefined;
  }

  /** Whether a plan left its chain out, which is known from that plan before it is listed. */
  isLeftOut(pool: StoredPool): boolean {
    if (this.deployedOf(pool)) return false;
    const isIt = ({ chain_id, slo_id }: NotKept) => slo_id === null && chain_id === pool.chain_id;
    return this.notKept.isNotKept(pool.chain_id) || (this.deployments.comingPlan?.not_kept ?? []).some(isIt);
  }

  /** Classes of chains that are no pools. */
  classesOfOthers(pools: readonly StoredPool[]): HeldClass[] {
    const own = new Set(pools.map(({ chain_id }) => chain_id));
    return (this.deployments.comingPlan?.chains ?? [])
      .filter(({ chain_id }) => !own.has(chain_id))
      .map(({ chain_id, definition: { traffic_class } }) => ({
        id: chain_id,
        from: traffic_class.from,
        match: traffic_class.match,
      }));
  }

  /** What a chain is called in a sentence. */
  chainName(id: string): string {
    const chain = this.deployments.comingPlan?.chains.find(({ chain_id }) => chain_id === id);
    return `the chain ${chain?.definition.name ?? id}`;
  }

  /** What the switches have left for the classes of requests; undefined: nothing is deployed. */
  async entryRoomOf(pool: StoredPool, held: readonly HoldingRequest[], pace: Pace): Promise<EntryRoom | undefined> {
    const plan = this.deployments.comingPlan;
    if (!plan) return undefined;
    const { infrastructure } = this.infrastructure.current;
    const abilities = infrastructure.switches.flatMap(({ id }) => {
      const known = this.switches.switchAbilities(id);
      return known ? [[id, known] as const] : [];
    });
    const ingress = this.deployedOf(pool)?.nodes.find(({ kind }) => kind === 'ingress');
    const ways = ingress?.kind === 'ingress' ? (ingress.ways ?? []) : [];
    const left = new Map(plan.tables.map((it) => [it.switch, it.available - it.entries]));
    const room = new EntryRoom(infrastructure, new Map(abilities), left);
    const planned = new Set<string>();
    for (const { id: way, classes } of ways)
      for (const { id, from, match } of classes) {
        planned.add(id);
        room.has({ from, match, way: Number(way.slice(1)) });
        await pace.breathe();
      }
    for (const { id, from, match, way } of held) {
      if (!planned.has(id)) room.take({ from, match, way: way.number }, false);
      await pace.breathe();
    }
    return room;
  }

  /** `claims`: requests that hold capacity or wait for some; `waitsFor`: what is in the way of them. */
  describe(pool: StoredPool, held: readonly HoldingRequest[], claims: number, waitsFor: string | null): ServicePool {
    const { definition, chain_id, created_ms } = pool;
    const { all } = this.stateOf(pool, held, []);
    const booked = bookedBy(held);
    return {
      id: definition.name,
      definition,
      chain_id,
      state: stateOf(pool),
      detail: (pool.removing ? null : pool.failed) ?? waitsFor,
      instances: all.map(({ instance_id: _, ...it }) => ({ ...it, booked_bps: booked.get(it.id) ?? 0 })),
      requests: claims,
      ways: new Set(held.map(({ way }) => way.number)).size,
      created_ms,
    };
  }

  /** Those of the requests of which packets take longer than they may once instances of the plan are on other servers. */
  lateWith(pool: StoredPool, held: readonly HoldingRequest[], servers: ReadonlyMap<string, string>): HoldingRequest[] {
    if (held.length === 0) return [];
    const { all, state } = this.stateOf(pool, held, []);
    const latencyOf = wayLatencies(all, state, servers);
    const ways = new Map(held.map(({ way }) => [way.number, way]));
    const latencies = new Map(
      [...ways].map(([number, { stages }]) => [number, latencyOf(stages.map(({ instance }) => instance))]),
    );
    return held.filter((it) => isTooLong(latencies.get(it.way.number) ?? 0, it));
  }

  /**
   * What packets take on a way of the pool: the medians of its instances over the last seconds, and the links between them.
   * Null: one was not measured.
   */
  measuredLatencies({ chain_id }: StoredPool): (way: RequestWay) => number | null {
    const running = nfInstances(this.deployments.plan?.graph).filter((it) => it.chain_id === chain_id);
    const medians = new Map(
      running.map(({ node_id, id }) => {
        return [node_id, this.telemetry.newest(sampleKey('instance', id, 'latency_p50_us'), FRESH_MS)];
      }),
    );
    return ({ stages }) =>
      stages.reduce<number | null>((sum, { instance, transit_us }) => {
        const median = medians.get(instance) ?? null;
        return sum === null || median === null ? null : sum + median + transit_us;
      }, 0);
  }

  /** What packets of the request get: `state` is that of its pool. */
  measuredOf(request: StoredRequest, pool: StoredPool): { latency_us: number | null; bps: number | null } {
    if (!isUnderWay(request) || !request.way) return { latency_us: null, bps: null };
    const rule = `classify/${request.pool}.${wayEdge(request.way.number, 1)}.${request.id}`;
    const rates = this.infrastructure.current.infrastructure.switches.flatMap(
      ({ id }) => this.telemetry.newest(sampleKey('rule', `${id} ${rule}`, 'bps'), FRESH_MS) ?? [],
    );
    return {
      latency_us: this.measuredLatencies(pool)(request.way),
      bps: rates.length === 0 ? null : rates.reduce((sum, bps) => sum + bps, 0),
    };
  }

  /** Slots that nothing uses and nobody reserved, of boards in service that are not known to lack a module for the NF. */
  private freeSlots(nf: string, taken: readonly SlotRef[]): SlotRef[] {
    const { boards } = this.infrastructure.current.infrastructure;
    const used = nfInstances(this.deployments.comingPlan?.graph).flatMap(({ board }) => board ?? []);
    const busy = [...used, ...taken, ...this.boards.reserved(), ...this.boards.broken()];
    const { servers, lost_servers, boards: without } = this.exclusions;
    const isOut = (id: string, server: string) =>
      [...servers, ...lost_servers].includes(server) || without.includes(id);
    return boards
      .filter(({ id, server }) => !isOut(id, server))
      .filter(({ id, server }) => this.fleet.boardOf(server, id)?.modules.includes(nf) ?? true)
      .flatMap(({ id, slots }) => Array.from({ length: slots }, (_, slot) => ({ board: id, slot })))
      .filter((slot) => !busy.some((it) => isSame(it, slot)));
  }
}

function stateOf({ removing, given_up, ready, failed }: StoredPool): ServicePool['state'] {
  if (removing) return 'removing';
  if (ready && !given_up) return 'ready';
  return failed === null ? 'deploying' : 'failed';
}

function isSame(a: SlotRef, b: SlotRef): boolean {
  return a.board === b.board && a.slot === b.slot;
}

function bookedBy(held: readonly HoldingRequest[]): Map<string, number> {
  const booked = new Map<string, number>();
  for (const { way, former, throughput_bps } of held)
    for (const instance of new Set([way, ...(former ? [former] : [])].flatMap((it) => numbered(it).instances)))
      booked.set(instance, (booked.get(instance) ?? 0) + throughput_bps);
  return booked;
}

function numbered({ number, stages }: RequestWay): NumberedWay {
  return { number, instances: stages.map(({ instance }) => instance) };
}

/** Whether packets that take so long miss the bound of the request. */
export function isTooLong(us: number, { latency_us }: Pick<StoredRequest, 'latency_us'>): boolean {
  return us > latency_us * (1 + ROUNDING);
}

export function passes(way: HoldingRequest['way'], instance: string): boolean {
  return way.stages.some((stage) => stage.instance === instance);
}

/** As the pool's chain carries it. */
export function heldRequest({ id, from, match, throughput_bps, way }: HoldingRequest): HeldRequest {
  return { id, from, match, throughput_bps, way: numbered(way) };
}
