import {
  crossesServers,
  type Infrastructure,
  type Instance,
  type InstanceGraph,
  type NfDescriptor,
  type NfOnSwitch,
  nfInstances,
  type Offload,
  type Plan,
  type PlannedChain,
  type SwitchAbilities,
} from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import { indexDescriptors } from '../check/attributes.js';
import { effectiveConfig } from '../check/implementation.js';
import { partOf } from '../igraph/parts.js';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import { Inability } from '../lower/switch/match.js';
import { nfEntryCount } from '../lower/switch/nf-program.js';
import { nfOnSwitch } from '../offload/nf-on-switch.js';
import type { Constraint } from './problem.js';

export interface OffloadInput {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly graph: InstanceGraph;
  /** Entries that the plan's own rules use in each switch. */
  readonly entries_used: number;
  /** What the switches can do, as far as they have told. */
  readonly switches?: ReadonlyMap<string, SwitchAbilities> | undefined;
}

interface OffloadChoice {
  readonly offloads: Offload[];
  readonly reasons: Plan['reasons'];
}

/**
 * Instances that a switch could run as well: those next to a switch port at the end of the placement whose NF the switch
 * has actions and table entries left for, most traffic saved first (E2 3.4.1 step 5). Errors: `OutOfTime`.
 */
export function chooseOffloads(input: OffloadInput, time: Pick<Budget, 'expired'> = {}): OffloadChoice {
  const { infrastructure } = input;
  const left = new Map(
    infrastructure.switches.map(({ id, table_entries }) => [id, table_entries - input.entries_used] as const),
  );
  const offloads: Offload[] = [];
  const reasons: Plan['reasons'] = [];
  for (const candidate of candidates(input)) {
    requireTime(time);
    const { instance, saved_bps: saved } = candidate;
    const tried = infrastructure.switches.map((it) => {
      const entries = entriesAt(it.id, candidate, input.switches);
      return { it, entries, constraint: obstacle(it, entries, candidate.actions, left) };
    });
    const chosen = saved === 0 ? undefined : tried.find(({ constraint }) => constraint === null);
    if (typeof chosen?.entries === 'number') {
      left.set(chosen.it.id, left.get(chosen.it.id)! - chosen.entries);
      offloads.push({
        instance_id: instance.id,
        switch: chosen.it.id,
        entries: chosen.entries,
        frees_core_share: instance.core_share,
        saves_bps: saved,
      });
    }
    reasons.push({
      part: 'offload',
      subject: instance.id,
      decision: chosen === undefined ? 'stays on its server' : `could run on ${chosen.it.id}`,
      because:
        saved === 0
          ? 'It is not next to a switch port: both of its neighbours are on its server.'
          : whatItTakes(chosen ?? tried[0]),
      candidates: tried.map(({ it, constraint }) => ({
        name: it.id,
        chosen: it.id === chosen?.it.id,
        feasible: saved > 0 && constraint === null,
        figure: null,
        unit: '',
        constraint,
      })),
      constraint: chosen === undefined ? (tried.find(({ constraint }) => constraint)?.constraint ?? null) : null,
    });
  }
  return { offloads, reasons };
}

function whatItTakes(tried: { readonly entries: number | Inability } | undefined): string {
  if (!tried) return 'There is no switch.';
  const { entries } = tried;
  if (typeof entries !== 'number') return `The switch cannot ${entries.message}.`;
  return `The switch would need ${entries === 1 ? 'one entry' : `${entries} entries`}; no packet would go to the server for it.`;
}

interface OffloadCandidate {
  readonly instance: Instance;
  /** What it is on a switch; absent: its descriptor tells the number of entries alone. */
  readonly runs?: NfOnSwitch;
  readonly entries: number;
  readonly actions: readonly Infrastructure['switches'][number]['actions'][number][];
  readonly saved_bps: number;
}

/** Of a switch whose agent has never connected. */
const ASSUMED: SwitchAbilities = {
  ...ASSUMED_ABILITIES,
  match: { ...ASSUMED_ABILITIES.match, nfs: { kind: 'exact', negation: false } },
  meters: true,
};

/** How many entries the switch would hold for it: a rule may need several. */
function entriesAt(
  id: string,
  { runs, entries }: OffloadCandidate,
  abilities: OffloadInput['switches'],
): number | Inability {
  if (!runs) return entries;
  try {
    return nfEntryCount(runs, abilities?.get(id) ?? ASSUMED);
  } catch (error) {
    if (error instanceof Inability) return error;
    throw error;
  }
}

/** Instances whose NF a switch can run, most traffic saved first. */
function candidates({ chains, descriptors, graph }: OffloadInput): OffloadCandidate[] {
  if (!descriptors.some(({ offload }) => offload)) return [];
  const catalogue = indexDescriptors(descriptors);
  const configs = new Map(
    chains.flatMap(({ chain_id, definition }) =>
      definition.nodes.map((node) => [`${chain_id}/${node.id}`, node.kind === 'nf' ? node.config : {}] as const),
    ),
  );
  // Those of chains that use switches are chosen for them (offload/choose.ts).
  const decided = new Set(chains.flatMap(({ chain_id, offload }) => (offload === 'where-possible' ? [chain_id] : [])));
  return nfInstances(graph)
    .filter(({ chain_id }) => !decided.has(chain_id))
    .flatMap((instance): OffloadCandidate[] => {
      const descriptor = catalogue.get(instance.nf)!;
      const { offload, on_switch } = descriptor;
      if (!offload) return [];
      const given = configs.get(`${instance.chain_id}/${instance.node_id}`) ?? {};
      const found = on_switch && nfOnSwitch(descriptor, given);
      // Its configuration keeps it on servers.
      if (found && !('runs' in found)) return [];
      const config = effectiveConfig(descriptor, given);
      const items = offload.entries_per === undefined ? undefined : config[offload.entries_per];
      const entries = offload.entries + (Array.isArray(items) ? items.length : 0);
      const about = { instance, entries, actions: offload.actions, saved_bps: savedTraffic(instance, graph) };
      return [found ? { ...about, runs: found.runs } : about];
    })
    .sort((a, b) => b.saved_bps - a.saved_bps);
}

/** Traffic that goes over a switch to the instance or from it, whichever is more. */
function savedTraffic({ id, chain_id }: Instance, graph: InstanceGraph): number {
  const { nodes, edges } = partOf(graph, chain_id);
  const exits = new Set(nodes.filter(({ kind }) => kind === 'exit').map((node) => node.id));
  const forward = edges.filter(({ direction }) => direction === 'forward');
  const over = (those: typeof forward) => those.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
  return Math.max(
    over(forward.filter((edge) => edge.to === id && (edge.from === null || crossesServers(edge)))),
    over(forward.filter((edge) => edge.from === id && (exits.has(edge.to) || crossesServers(edge)))),
  );
}

function obstacle(
  it: Infrastructure['switches'][number],
  entries: number | Inability,
  actions: OffloadCandidate['actions'],
  left: ReadonlyMap<string, number>,
): Constraint | null {
  const missing = actions.filter((action) => !it.actions.includes(action));
  if (missing.length > 0) {
    const unit = `actions (${missing.join(', ')})`;
    return { constraint: 'switch-action', needed: missing.length, available: 0, unit, where: it.id };
  }
  if (typeof entries !== 'number')
    return { constraint: 'switch-ability', needed: 1, available: 0, unit: 'abilities', where: it.id };
  const available = left.get(it.id)!;
  if (entries > available)
    return { constraint: 'switch-table', needed: entries, available, unit: 'entries', where: it.id };
  return null;
}
