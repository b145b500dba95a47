import { Inject, Injectable } from '@nestjs/common';
import {
  type DeploymentOptions,
  type DriverChange,
  type FieldError,
  ImplementationChoice,
  type Infrastructure,
  nfInstances,
  type Plan,
  type PlannedChain,
  PlanOptions,
  PlanRequest,
} from '@orrery/contract';
import { imageOf } from '@orrery/planner';
import { newId } from '../../platform/ids.js';
import { invalid, notFound } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { CALIBRATION, type CalibrationView } from '../../ports/calibration.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import type { Shelf } from '../../ports/plan-shelves.js';
import type { CompareLimits, PlacementComparison, PlanStore } from '../../ports/plan-store.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { tooManyMoves } from './asked-moves.js';
import { scaled, splitsOf, unfitSplits, unknownSplits } from './asked-splits.js';
import { keptOut } from './kept-out.js';
import type { Planned } from './plan-job.js';
import { StoredPlans } from './plan-shelves.js';
import { plannedDrivers } from './planned-drivers.js';
import { type MadePlan, Planner } from './planner.js';

/** Number of look-aheads that are remembered until they are requested as plans. */
const KEEP_LOOKED = 8;

/** Plans changes of what runs, and stores plans for later deployment. */
@Injectable()
export class PlansService implements PlanStore {
  /** By plan. */
  private readonly looked = new Map<string, MadePlan & { readonly digests: readonly string[] }>();

  constructor(
    @Inject(StoredPlans) private readonly stored: StoredPlans,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(SWITCH_FLEET) private readonly switches: SwitchFleet,
    @Inject(CALIBRATION) private readonly calibration: CalibrationView,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
    @Inject(Planner) private readonly planner: Planner,
  ) {}

  async get(id: string): Promise<Plan> {
    const plan = await this.stored.read(id);
    if (!plan) throw notFound('plan', id);
    return plan;
  }

  async lookAhead(request: PlanRequest, base: Plan | null, coming: readonly DriverChange[] = []): Promise<Plan> {
    return (await this.planned(request, base, coming)).plan;
  }

  async tryOut(request: PlanRequest, base: Plan | null, coming: readonly DriverChange[] = []): Promise<Plan> {
    return (await this.planned(request, base, coming, { remember: false })).plan;
  }

  async make(
    request: PlanRequest,
    base: Plan | null,
    coming: readonly DriverChange[] = [],
    shelf: Shelf = 'own',
  ): Promise<Plan> {
    const { plan, text } = await this.planned(request, base, coming);
    this.looked.delete(plan.id);
    await this.stored.keep(plan.id, text, shelf);
    return plan;
  }

  async compare(
    limits: CompareLimits,
    base: Plan,
    coming: readonly DriverChange[] = [],
    signal?: AbortSignal,
  ): Promise<PlacementComparison> {
    const { away, ...input } = await this.inputOf(PlanRequest.parse({}), base, coming);
    const without_servers = [...input.without_servers, ...away];
    return this.planner.compare(
      { ...input, without_servers, id: newId('plan'), created_ms: Date.now() },
      limits,
      signal,
    );
  }

  outdatedBy({ chains, nf_revisions }: Plan): string | null {
    const revisions = nfsOf(chains).map((nf) => [nf, this.catalogue.revisionOf(nf)] as const);
    const removed = revisions.find(([, revision]) => revision === null);
    if (removed) return `NF "${removed[0]}" was removed since this was planned.`;
    if (revisions.length === 0) return null;
    if (!nf_revisions)
      return 'This was planned by an earlier version of Orrery, which did not record how its NFs were described.';
    const changed = revisions.find(([nf, revision]) => revision !== nf_revisions[nf]);
    return changed ? `NF "${changed[0]}" was changed since this was planned.` : null;
  }

  /**
   * The plan of an equal look-ahead, or a new one; the same input gives the same plan. A plan that chose a slot also serves
   * a request for that slot.
   */
  private async planned(
    request: PlanRequest,
    base: Plan | null,
    coming: readonly DriverChange[],
    { remember } = { remember: true },
  ): Promise<MadePlan> {
    const input = await this.inputOf(request, base, coming);
    const digest = digestOf(input);
    const known = [...this.looked.values()].find(({ digests }) => digests.includes(digest));
    const made = known ?? (await this.plan(input, request.time_limit_s));
    const unfit = [...unfitSplits(request, made.plan), ...tooManyMoves(request, base, made.plan)];
    if (unfit.length > 0) throw invalid(unfit);
    if (known || !remember) return made;
    const { id } = made.plan;
    const implementations = withSlots(input.implementations, made.plan);
    this.looked.set(id, { ...made, digests: [digest, digestOf({ ...input, implementations })] });
    for (const old of [...this.looked.keys()].slice(0, -KEEP_LOOKED)) this.looked.delete(old);
    return made;
  }

  /** New instances avoid servers whose agents are away, where that is possible. */
  private async plan({ away, ...input }: Input, time_limit_s?: number): Promise<MadePlan> {
    const created_ms = Date.now();
    const stamp = () => ({ id: newId('plan'), created_ms });
    if (away.length > 0) {
      const infrastructure = withoutServers(input.infrastructure, new Set(away));
      const made = await this.planner.plan({ ...input, infrastructure, ...stamp() }, time_limit_s);
      if (made.plan.feasible) return made;
    }
    return this.planner.plan({ ...input, ...stamp() }, time_limit_s);
  }

  /** Servers on which nothing runs and whose agents are away, while others are connected. */
  private awayOf(servers: readonly string[], base: Plan | null): string[] {
    const used = new Set(base?.graph.nodes.flatMap((node) => (node.kind === 'exit' ? [] : node.server)));
    const away = servers.filter((id) => !used.has(id) && !this.fleet.isConnected(id));
    return away.length < servers.length ? away : [];
  }

  private async inputOf(request: PlanRequest, base: Plan | null, coming: readonly DriverChange[]) {
    const chains = await this.wanted(request, base);
    const unknown = [
      ...request.without_slots.flatMap((slot, i) => this.boards.errorsOf(slot, `/without_slots/${i}`)),
      ...this.unknownParts(request),
    ];
    if (unknown.length > 0) throw invalid(unknown);
    const { revision } = this.infrastructure.current;
    const switched = await plannedDrivers(request.switch_drivers, coming, this.infrastructure, this.switches);
    const { infrastructure } = switched;
    const servers = infrastructure.servers.map(({ id }) => id);
    const { closed, ...without } = keptOut(request, this.exclusions, base, infrastructure);
    const { on_top_of: _base, time_limit_s: _limit, ...change } = request;
    return {
      request: change,
      away: this.awayOf(servers, base),
      options: optionsOf(request),
      chains,
      descriptors: this.catalogue.all(),
      nf_revisions: Object.fromEntries(
        nfsOf(chains).flatMap((nf) => {
          const revision = this.catalogue.revisionOf(nf);
          return revision === null ? [] : [[nf, revision]];
        }),
      ),
      ...switched,
      infrastructure_revision: revision,
      calibration: this.calibration.current,
      base,
      implementations: request.implementations,
      container_servers: servers.filter((id) => this.fleet.offers(id, 'container')),
      program_servers: servers.filter((id) => this.fleet.containsPrograms(id)),
      legacy_nfs: this.legacyNfsOf(servers),
      abilities: Object.fromEntries(servers.map((id) => [id, this.fleet.abilitiesOf(id)])),
      workers: Object.fromEntries(
        servers.flatMap((id) => {
          const workers = this.fleet.workersOf(id);
          return workers === null ? [] : [[id, workers]];
        }),
      ),
      reserved_slots: this.boards.reserved(),
      without_slots: [...request.without_slots, ...this.boards.broken()],
      ...without,
      ...(closed.servers.length > 0 ? { closed_servers: closed.servers } : {}),
      ...(closed.boards.length > 0 ? { closed_boards: closed.boards } : {}),
      guarded: this.guarded(request, base, chains),
      ...(request.move ? { move: request.move } : {}),
      ...(request.when_short ? { when_short: request.when_short } : {}),
    };
  }

  /** Chains that were left out and fail closed, until they run again or are removed. */
  private guarded({ remove }: PlanRequest, base: Plan | null, chains: readonly PlannedChain[]): PlannedChain[] {
    const known = new Set([...remove, ...chains.map(({ chain_id }) => chain_id)]);
    return (base?.guarded ?? []).filter(({ chain_id }) => !known.has(chain_id));
  }

  private unknownParts({ without_servers = [], without_boards = [], move = [] }: PlanRequest): FieldError[] {
    const { servers, boards } = this.infrastructure.current.infrastructure;
    const errorsOf = (
      ids: readonly string[],
      known: readonly { id: string }[],
      noun: string,
      at: (i: number) => string,
    ) =>
      ids.flatMap((id, i): FieldError[] => {
        const detail = `the infrastructure has no ${noun} "${id}"`;
        return known.some((each) => each.id === id) ? [] : [{ pointer: at(i), detail, code: `unknown-${noun}` }];
      });
    return [
      ...errorsOf(without_servers, servers, 'server', (i) => `/without_servers/${i}`),
      ...errorsOf(without_boards, boards, 'board', (i) => `/without_boards/${i}`),
      ...errorsOf(
        move.map(({ server }) => server),
        servers,
        'server',
        (i) => `/move/${i}/server`,
      ),
    ];
  }

  /** Programs and images that each server can run; servers that have not said are left out. */
  private legacyNfsOf(servers: readonly string[]): Record<string, string[]> {
    const ofUsers = new Set(this.catalogue.legacyOfUsers());
    const images = this.catalogue.all().flatMap((descriptor) => {
      const image = imageOf(descriptor);
      return image ? [{ id: descriptor.id, image }] : [];
    });
    const programs = [...ofUsers].filter((id) => !images.some((it) => it.id === id));
    return Object.fromEntries(
      servers.flatMap((server) => {
        const offered = this.fleet.legacyNfsOf(server);
        if (!offered) return [];
        const run = images.filter(({ id, image }) => this.fleet.imageLackOf(server, image, ofUsers.has(id)) === null);
        return [[server, [...offered.nfs, ...(offered.enabled ? programs : []), ...run.map(({ id }) => id)]]];
      }),
    );
  }

  /** What runs, with the request's chains added or replaced and its removals applied. */
  private async wanted(request: PlanRequest, base: Plan | null): Promise<PlannedChain[]> {
    const wanted = new Map((base?.chains ?? []).map((chain) => [chain.chain_id, chain]));
    const guarded = new Set(base?.guarded?.map(({ chain_id }) => chain_id));
    request.remove.forEach((id, index) => {
      if (!wanted.delete(id) && !guarded.has(id))
        throw invalid([{ pointer: `/remove/${index}`, detail: `${id} is not deployed`, code: 'not-deployed' }]);
    });
    const named = new Set(request.remove);
    for (const [index, { chain_id: id, version, ...options }] of request.chains.entries()) {
      const pointer = `/chains/${index}/chain_id`;
      if (named.has(id)) throw invalid([{ pointer, detail: `${id} is named twice`, code: 'duplicate-id' }]);
      named.add(id);
      const chain = await this.versionOf(id, version ?? 0);
      const execution = options.execution ?? wanted.get(id)?.execution;
      const splits = `/chains/${index}/splits`;
      const unfit = [
        ...unknownSplits({ ...options, execution }, chain, wanted.get(id), base, splits),
        ...this.tooMany(options, chain, splits),
      ];
      if (unfit.length > 0) throw invalid(unfit);
      wanted.set(id, { ...chain, ...howToRun(options, wanted.get(id), chain, base) });
    }
    return [...wanted.values()];
  }

  /** Numbers of instances above what the descriptor of the NF allows. */
  private tooMany({ splits = [] }: DeploymentOptions, { definition }: PlannedChain, pointer: string): FieldError[] {
    return splits.flatMap(({ node_id, instances }, i): FieldError[] => {
      const node = definition.nodes.find(({ id }) => id === node_id);
      const most = node?.kind === 'nf' ? this.catalogue.find(node.nf)?.scaling.max_instances : undefined;
      if (!instances || most === undefined || instances <= most) return [];
      const detail = `is above ${most}, the most instances that its descriptor allows`;
      return [{ pointer: `${pointer}/${i}/instances`, detail, code: 'above-limit' }];
    });
  }

  private async versionOf(id: string, version: number): Promise<PlannedChain> {
    if (version > 0) {
      const { definition } = await this.chains.version(id, version);
      return { chain_id: id, version, definition };
    }
    const { draft, draft_differs, versions } = await this.chains.get(id);
    return { chain_id: id, version: draft_differs ? 0 : (versions.at(-1)?.version ?? 0), definition: draft };
  }
}

function nfsOf(chains: readonly PlannedChain[]): string[] {
  const nodes = chains.flatMap(({ definition }) => definition.nodes);
  return [...new Set(nodes.flatMap((node) => (node.kind === 'nf' ? node.nf : [])))];
}

/** What is asked for, else as the chain runs now. */
function howToRun(
  asked: DeploymentOptions,
  now: PlannedChain | undefined,
  chain: PlannedChain,
  base: Plan | null,
): Pick<PlannedChain, 'execution' | 'schedule' | 'offload' | 'splits'> {
  const execution = asked.execution ?? now?.execution;
  const schedule = asked.schedule ?? now?.schedule;
  const offload = asked.offload ?? now?.offload;
  const splits = splitsOf([...(now?.splits ?? []), ...scaled(asked.splits ?? [], now, base)], chain);
  return {
    ...(execution ? { execution } : {}),
    ...(schedule ? { schedule } : {}),
    ...(offload ? { offload } : {}),
    ...(splits.length > 0 ? { splits } : {}),
  };
}

function withoutServers(infrastructure: Infrastructure, away: ReadonlySet<string>): Infrastructure {
  const { servers, boards, links } = infrastructure;
  return {
    ...infrastructure,
    servers: servers.filter(({ id }) => !away.has(id)),
    boards: boards.filter(({ server }) => !away.has(server)),
    links: links.filter(({ a, b }) => !away.has(a.node) && !away.has(b.node)),
  };
}

type Input = Omit<Planned, 'id' | 'created_ms'> & { readonly away: readonly string[] };

/** Identifies an input. The infrastructure and the descriptors of its NFs have revisions, and the request is in the rest. */
function digestOf({ descriptors: _, infrastructure: _infrastructure, request: _request, ...named }: Input): string {
  const { base, switches } = named;
  return JSON.stringify({ ...named, base: base?.id, switches: [...(switches ?? [])] });
}

/** The choices, with the slots that the plan selected where none was given. */
function withSlots(choices: PlanRequest['implementations'], { graph }: Plan): PlanRequest['implementations'] {
  return choices.map((choice) => {
    if (choice.on !== 'board' || choice.slot) return choice;
    const found = nfInstances(graph).find(
      ({ chain_id, node_id }) => chain_id === choice.chain_id && node_id === choice.node_id,
    );
    const { board } = found ?? {};
    return board ? ImplementationChoice.parse({ ...choice, slot: { board: board.board, slot: board.slot } }) : choice;
  });
}

function optionsOf(request: PlanRequest): PlanOptions {
  return PlanOptions.parse(
    Object.fromEntries(Object.keys(PlanOptions.shape).map((key) => [key, request[key as keyof PlanOptions]])),
  );
}
