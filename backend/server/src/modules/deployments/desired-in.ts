import type { DriverChange, FabricSpec, NodeSpec, Plan } from '@orrery/contract';
import { fabricIn, isEmptyNode, isFabricPhase, nodesIn, PHASES, type Phase } from '@orrery/planner';
import type { Desired } from './desired-store.js';

/** What nodes and fabric are to become. */
export interface Target {
  readonly operation_id: string;
  readonly plan_id: string | null;
  readonly nodes: Plan['nodes'];
  readonly fabric: Pick<FabricSpec, 'rules'>;
  readonly abandoned: readonly string[];
  /** Servers that are told as all others, and that nothing waits for. */
  readonly lost: readonly string[];
  readonly drivers: readonly DriverChange[];
}

/** The way to a plan; null: to nothing. `drivers`: what it changes of the drivers as they are. */
export function targetOf(operation_id: string, plan: Plan | null, drivers: readonly DriverChange[]): Target {
  const { id = null, nodes = {}, fabric = { rules: [] }, abandoned = [], excluded } = plan ?? {};
  return { operation_id, plan_id: id, nodes, fabric, abandoned, lost: excluded?.lost_servers ?? [], drivers };
}

/**
 * Desired state in a phase, derived from the previous desired state. Generations are not below `nowMs`: where the state is
 * restored from a backup, nodes may have had later ones than it knows.
 */
export function desiredIn(
  before: Desired,
  phase: Phase,
  target: Target,
  exists: (server: string) => boolean,
  nowMs: number,
): Desired {
  const generation = Math.max(before.generation + 1, nowMs);
  const { operation_id, plan_id } = target;
  const base: Desired = { ...before, operation_id, plan_id, phase, generation, waiting_for: [] };
  if (isFabricPhase(phase)) {
    const wanted = { generation, rules: target.fabric.rules };
    const fabric = fabricIn(phase, before.fabric, wanted, exists);
    const drivers = phase === 'steer' ? target.drivers : before.drivers;
    return { ...base, drivers, fabric: numbered(before.fabric, fabric, generation) };
  }
  if (phase === 'settled') return { ...base, generation: before.generation };
  const nodes = Object.fromEntries(
    Object.entries(nodesIn(phase, before.nodes, target.nodes, new Set(target.abandoned))).map(([name, spec]) => [
      name,
      numbered(before.nodes[name], spec, generation),
    ]),
  );
  const waiting_for = changedNodes(before.nodes, nodes).filter((name) => !target.lost.includes(name));
  return { ...base, nodes, waiting_for };
}

function changedNodes(before: Desired['nodes'], after: Desired['nodes']): string[] {
  return Object.entries(after).flatMap(([name, spec]) => {
    const old = before[name];
    return spec !== old && !(isEmptyNode(spec) && (!old || isEmptyNode(old))) ? [name] : [];
  });
}

/** The first phase, starting at `wanted`, that changes something, and the desired state in it. */
export function nextPhase(
  before: Desired,
  wanted: Phase,
  target: Target,
  exists: (server: string) => boolean,
  nowMs: number,
): { readonly phase: Phase; readonly desired: Desired } {
  for (const phase of PHASES.slice(PHASES.indexOf(wanted))) {
    const desired = desiredIn(before, phase, target, exists, nowMs);
    const drives = phase === 'steer' && target.drivers.length > 0;
    if (drives || changesIn(before, desired, phase)) return { phase, desired };
  }
  throw new Error('the phase "settled" is always entered');
}

/** Whether the phase changes anything. */
function changesIn(before: Desired, after: Desired, phase: Phase): boolean {
  if (phase === 'settled') return true;
  return isFabricPhase(phase) ? after.fabric !== before.fabric : changedNodes(before.nodes, after.nodes).length > 0;
}

/** Changed specs get the generation; the others keep theirs. */
function numbered<S extends NodeSpec | FabricSpec>(before: S | undefined, next: S, generation: number): S {
  return next === before ? next : { ...next, generation };
}
