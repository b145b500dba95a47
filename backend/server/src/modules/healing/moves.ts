import {
  type ChainNotKept,
  type GraphNode,
  type Infrastructure,
  type Instance,
  type LeftInstance,
  lineageOf,
  type MaintenanceChange,
  MOST_LEFT,
  nfInstances,
  type OutOfService,
  type Plan,
} from '@orrery/contract';
import type { PlanChange } from '../../ports/deployer.js';

type Part = Pick<OutOfService, 'id' | 'kind'>;

/** Whether an instance needs the part: it stands there, or in a slot that its agent drives. */
function needs({ boards }: Infrastructure, { id, kind }: Part, { server, board }: Instance): boolean {
  if (kind === 'board') return board?.board === id;
  return (board && boards.find((each) => each.id === board.board)?.server === id) || server === id;
}

/** The instances of a plan that need the part. */
export function instancesOn(plan: Plan | null, infrastructure: Infrastructure, part: Part): Instance[] {
  return nfInstances(plan?.graph).filter((instance) => needs(infrastructure, part, instance));
}

/** The chains of a plan that have instances, mirrors, merges, splits or queues on the part. */
export function chainsAt(plan: Plan | null, infrastructure: Infrastructure, part: Part): string[] {
  const isThere = (it: GraphNode) => {
    if (it.kind === 'nf') return needs(infrastructure, part, it);
    return it.kind !== 'exit' && part.kind === 'server' && it.server === part.id;
  };
  return chainsOf(plan?.graph.nodes.filter(isThere) ?? []);
}

export function uses(plan: Plan | null, infrastructure: Infrastructure, part: Part): boolean {
  return chainsAt(plan, infrastructure, part).length > 0;
}

/**
 * What has left a part so far, with what runs there and leaves it now, but for what is lent; each once, as it stood there last.
 * The latest ones, as many as one plan can bring back.
 */
export function leftSoFar(
  before: readonly LeftInstance[],
  running: readonly Instance[],
  isLent: (instance: Instance) => boolean,
): LeftInstance[] {
  const here = new Set(leftBy(running).map(nameOf));
  const gone = before.filter((left) => !here.has(nameOf(left)));
  return [...gone, ...leftBy(running.filter((instance) => !isLent(instance)))].slice(-MOST_LEFT);
}

const nameOf = ({ chain_id, node_id, instance }: LeftInstance) => `${chain_id} ${node_id} ${instance}`;

function leftBy(instances: readonly Instance[]): LeftInstance[] {
  return instances.map(({ id, chain_id, node_id, board }) => ({
    chain_id,
    node_id,
    instance: lineageOf(id),
    slot: board ? { board: board.board, slot: board.slot } : null,
  }));
}

/** Their chains, each once. */
export function chainsOf(instances: readonly Pick<LeftInstance, 'chain_id'>[]): string[] {
  return [...new Set(instances.map(({ chain_id }) => chain_id))];
}

/** What a plan moves of what runs, for people. */
export function movesOf(base: Plan | null, plan: Plan): MaintenanceChange['moves'] {
  const before = new Map(nfInstances(base?.graph).map((it) => [it.pgraph_node + lineageOf(it.id), it]));
  return nfInstances(plan.graph).flatMap((it) => {
    const was = before.get(it.pgraph_node + lineageOf(it.id));
    const [from, to] = [was && placeOf(was), placeOf(it)];
    return was && from !== undefined && from !== to ? [{ instance: it.id, from, to }] : [];
  });
}

function placeOf({ server, board }: Instance): string {
  return board ? board.board : server;
}

export function warningsOf({ problems }: Plan): string[] {
  return problems.flatMap(({ code, message }) => (code === 'flow-state-lost' ? [message] : []));
}

/** What drains a part, and no other; by force, chains are taken down for it. */
export function toDrain({ id, kind }: Part, force: boolean): PlanChange {
  const without = kind === 'server' ? { without_servers: [id] } : { without_boards: [id] };
  return { ...without, ...(force ? { when_short: 'leave-out' } : {}) };
}

/** What brings back to a part what left it and still runs elsewhere; null: nothing. */
export function returnTo(part: OutOfService, plan: Plan | null, infrastructure: Infrastructure): PlanChange | null {
  const running = nfInstances(plan?.graph).filter((it) => !needs(infrastructure, part, it));
  const found = part.left.flatMap((left) => {
    const now = running.filter((it) => it.chain_id === left.chain_id && it.node_id === left.node_id);
    const same = now.find(({ id }) => lineageOf(id) === left.instance) ?? (left.slot ? now[0] : undefined);
    return same ? [{ left, same }] : [];
  });
  if (found.length === 0) return null;
  const implementations = found.flatMap(({ left: { chain_id, node_id, slot } }) =>
    slot ? [{ chain_id, node_id, on: 'board' as const, slot, load: 'partial' as const, policy: 'hold' as const }] : [],
  );
  const move = found.flatMap(({ left, same }) => (left.slot ? [] : [{ instance: same.id, server: part.id }]));
  return { ...(implementations.length > 0 ? { implementations } : {}), move };
}

/** The chains that a plan has left out, as they ran before; `versions`: by chain, which plans do not always know. */
export function chainsLeftOut(
  plan: Plan,
  before: Plan | null,
  versions: ReadonlyMap<string, number>,
  nowMs: number,
): ChainNotKept[] {
  return (plan.not_kept ?? []).flatMap(({ slo_id, ...rest }): ChainNotKept[] => {
    const chain = before?.chains.find(({ chain_id }) => chain_id === rest.chain_id);
    const version = versions.get(rest.chain_id) ?? chain?.version ?? 0;
    if (slo_id !== null || !chain || version < 1) return [];
    const { execution, schedule, offload, splits } = chain;
    return [
      {
        ...rest,
        version,
        since_ms: nowMs,
        operation_id: null,
        given_up_by: null,
        ...(execution ? { execution } : {}),
        ...(schedule ? { schedule } : {}),
        ...(offload ? { offload } : {}),
        ...(splits ? { splits } : {}),
      },
    ];
  });
}
