import { type InstanceGraph, isPlanned, nfInstances, type Plan, type PlannedChain } from '@orrery/contract';
import { improving } from '../budget.js';
import { keepingParts } from '../igraph/parts.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { planSchedule } from '../schedule/plan-schedule.js';
import { SCHEDULE_STEPS, scheduleProblem } from '../schedule/schedule-forms.js';
import { obstacleTo } from '../schedule/task-queues.js';
import { classRate } from '../slo/class-forecasts.js';
import { coreKey, coreUse } from '../slo/placed.js';
import type { SplitDraft } from './draft.js';

/** Of a core's budget that NFs may take: queues come on top. */
const WITHOUT_QUEUES = 0.9;

type Draft = Pick<SplitDraft, 'input' | 'options' | 'pgraph'>;
type Reasons = Plan['reasons'];

interface Gathered {
  readonly graph: InstanceGraph;
  /** Nodes that run and leave their core. */
  readonly displaced: readonly string[];
  readonly reasons: Reasons;
}

/**
 * The cores of chains with a schedule, on the server where placement put them: `planned` keeps a chain on one core, because each
 * core that packets come to is one more task; `split` gives each task one of several cores, which no worker of the engine shares
 * (Alpine 5.3.2). A chain stays as placed where its instances stand on several servers, have no room, or run as asked already.
 */
export function gatherForSchedules(draft: Draft, placed: InstanceGraph): Gathered {
  let graph = placed;
  const displaced: string[] = [];
  const reasons: Reasons = [];
  for (const chain of draft.input.chains) {
    if (!isPlanned(chain.schedule) || runsAsAsked(draft, graph, chain) || obstacleTo(chain, graph)) continue;
    const found = coresFor(draft, graph, chain);
    if (!found) continue;
    const { server, coreOf, because } = found;
    const before = graph;
    const nodes = before.nodes.map((node) => {
      const core = node.kind === 'nf' && node.chain_id === chain.chain_id ? coreOf.get(node.node_id) : undefined;
      return node.kind !== 'nf' || core === undefined || core === node.core ? node : { ...node, core };
    });
    graph = keepingParts({ ...before, nodes }, before, new Set([chain.chain_id]));
    const ran = new Map(nfInstances(draft.input.base?.graph).map((instance) => [instance.id, instance]));
    displaced.push(
      ...nfInstances({ nodes }).flatMap(({ id, core, chain_id }) =>
        chain_id === chain.chain_id && ran.has(id) && ran.get(id)!.core !== core ? [id] : [],
      ),
    );
    const cores = [...new Set(coreOf.values())].sort((a, b) => a - b);
    const decision = `on core${cores.length > 1 ? 's' : ''} ${cores.join(', ')} of ${server}`;
    reasons.push({
      part: 'scheduling',
      subject: chain.chain_id,
      decision,
      because,
      candidates: [],
      constraint: null,
    });
  }
  return { graph, displaced, reasons };
}

/** Whether every instance runs where it is, in the same kind of schedule. */
function runsAsAsked({ input: { base } }: Draft, graph: InstanceGraph, { chain_id, schedule }: PlannedChain): boolean {
  if (base?.chains.find((chain) => chain.chain_id === chain_id)?.schedule !== schedule) return false;
  const ran = new Map(nfInstances(base?.graph).map((instance) => [instance.id, coreKey(instance)]));
  return ownOf(graph, chain_id).every((instance) => ran.get(instance.id) === coreKey(instance));
}

const ownOf = (graph: InstanceGraph, chainId: string) =>
  nfInstances(graph).filter(({ chain_id }) => chain_id === chainId);

interface Cores {
  readonly server: string;
  /** By node of the chain. */
  readonly coreOf: ReadonlyMap<string, number>;
  readonly because: string;
}

/** `null`: as placed. */
function coresFor(draft: Draft, graph: InstanceGraph, chain: PlannedChain): Cores | null {
  const own = ownOf(graph, chain.chain_id);
  const [server, ...others] = new Set(own.map((instance) => instance.server));
  if (server === undefined || others.length > 0) return null;
  const free = freeCores(draft, graph, chain, server);
  const isSplit = chain.schedule === 'split';
  const workerOf = isSplit ? taskWorkers(draft, graph, chain, free.length) : new Map(own.map((it) => [it.node_id, 0]));
  if (!workerOf) return null;
  const load = new Map<number, number>();
  for (const { node_id, core_share } of own) {
    const worker = workerOf.get(node_id) ?? 0;
    load.set(worker, (load.get(worker) ?? 0) + core_share);
  }
  const byLoad = [...load].sort(([a, x], [b, y]) => y - x || a - b);
  if (byLoad.some(([, share], i) => share > WITHOUT_QUEUES * (free[i]?.share ?? 0))) return null;
  const coreOf = new Map(byLoad.map(([worker], i) => [worker, free[i]!.core]));
  return {
    server,
    coreOf: new Map(own.map(({ node_id }) => [node_id, coreOf.get(workerOf.get(node_id) ?? 0)!])),
    because: isSplit
      ? `Its tasks are divided so that the busiest of ${byLoad.length} cores has as little as possible.`
      : 'Together its NFs have room on one core, and tasks begin only where the objectives ask for it.',
  };
}

/** The cores of the server that other chains leave most of, one for each worker of its engine. */
function freeCores({ input }: Draft, graph: InstanceGraph, { chain_id }: PlannedChain, server: string) {
  const { cores } = input.infrastructure.servers.find(({ id }) => id === server)!;
  const workers = Math.min(cores, input.workers?.[server] ?? cores);
  const use = coreUse({ nodes: graph.nodes.filter((node) => node.chain_id !== chain_id) });
  const all = Array.from({ length: cores }, (_, core) => ({
    core,
    share: CORE_BUDGET - (use.get(coreKey({ server, core })) ?? 0),
  })).sort((a, b) => b.share - a.share || a.core - b.core);
  return Array.from({ length: workers }, (_, worker) => all.find(({ core }) => core % workers === worker)!).sort(
    (a, b) => b.share - a.share || a.core - b.core,
  );
}

/** The worker of each NF if the chain has `count` of them to itself; `null` where its schedule is not feasible. */
function taskWorkers(
  { input, options, pgraph }: Draft,
  graph: InstanceGraph,
  chain: PlannedChain,
  count: number,
): Map<string, number> | null {
  const { scheduling: strategy, scheduling_mode: mode } = options;
  const together = graph.nodes.map((node) =>
    node.kind === 'nf' && node.chain_id === chain.chain_id ? { ...node, core: 0 } : node,
  );
  const rateOf = (it: PlannedChain, path: Parameters<typeof classRate>[2]) => classRate(pgraph, it, path);
  const named = scheduleProblem({ ...input, graph: { ...graph, nodes: together }, rateOf, strategy, mode }, chain);
  if (!named) return null;
  const { placed: _together, ...workers } = named.problem.workers;
  const problem = { ...named.problem, workers: { ...workers, count, sharing: 'split' as const } };
  const budget = { steps: SCHEDULE_STEPS, expired: improving(input.budget).expired };
  const schedule = planSchedule(problem, { strategy, mode, budget });
  if (!schedule.feasible) return null;
  return new Map(
    schedule.tasks.flatMap(({ modules, workers: [worker] }) =>
      modules.flatMap((module) =>
        module >= 0 && named.edge[module] === null ? [[problem.modules[module]!.id, worker ?? 0] as const] : [],
      ),
    ),
  );
}
