import type { FabricSpec, InstanceSpec, ModuleSpec, NodeSpec, PlanStep } from '@orrery/contract';
import {
  type FabricPhase,
  fabricIn,
  isEmptyNode,
  isFabricPhase,
  type NodePhase,
  type Nodes,
  nodesIn,
  PHASES,
  STEP_KIND,
} from './phases.js';
import { sameContent } from './same-spec.js';

interface Desired {
  readonly nodes: Nodes;
  readonly fabric: FabricSpec;
}

type Step = Omit<PlanStep, 'ordinal'>;

const NOTHING: Desired = { nodes: {}, fabric: { generation: 0, rules: [] } };

/**
 * The changes of each phase, one step per node or fabric, in order; restricted to the given servers. `slots`: places at switches that exist. `moved`: modules that
 * leave their core under their id; the step that takes one from there interrupts its chain.
 */
export function stepsBetween(
  base: Desired | null,
  next: Desired,
  servers: readonly string[],
  slots: readonly string[] = [],
  abandoned: ReadonlySet<string> = new Set(),
  moved: ReadonlySet<string> = new Set(),
): PlanStep[] {
  const present = new Set([...servers, ...slots]);
  let { nodes, fabric } = base ?? NOTHING;
  const steps: Step[] = [];
  for (const phase of PHASES) {
    if (phase === 'settled') break;
    if (isFabricPhase(phase)) {
      const after = fabricIn(phase, fabric, next.fabric, (server) => present.has(server));
      if (after !== fabric) steps.push(fabricStep(phase, fabric, after));
      fabric = after;
    } else {
      const after = nodesIn(phase, nodes, next.nodes, abandoned);
      for (const id of servers) {
        const [was, is] = [nodes[id], after[id]];
        if (is && is !== was && !(isEmptyNode(is) && (!was || isEmptyNode(was))))
          steps.push(nodeStep(phase, id, was, is, moved));
      }
      nodes = after;
    }
  }
  return steps.map((step, ordinal) => ({ ordinal, ...step }));
}

function nodeStep(
  phase: NodePhase,
  subject: string,
  was: NodeSpec | undefined,
  is: NodeSpec,
  moved: ReadonlySet<string>,
): Step {
  const before = new Map(was?.instances.map((instance) => [instance.id, instance]));
  const started = is.instances.filter(({ id }) => !before.has(id)).length;
  const stopped = before.size - (is.instances.length - started);
  const changed = is.instances.filter((it) => before.has(it.id) && !sameContent(before.get(it.id), it));
  const restarted = changed.filter((instance) => !isOnlyRewired(before.get(instance.id)!, instance));
  const parts = [
    [started, 'started'],
    [stopped, 'stopped'],
    [restarted.length, 'reconfigured'],
    [changed.length - restarted.length, 'rewired'],
  ] as const;
  const said = parts.flatMap(([n, what]) => (n > 0 ? [`${count(n, 'instance')} ${what}`] : []));
  const wires = phase === 'clean' ? 'unused hops removed' : 'hops written';
  return {
    kind: STEP_KIND[phase],
    subject,
    summary: `${said.length > 0 ? said.join(', ') : wires} on ${subject}`,
    interrupts: [...new Set([...restarted, ...modulesLeaving(was, is, moved)].map(({ chain_id }) => chain_id))],
  };
}

/** Modules that move and leave their core of this server in this step. */
function modulesLeaving(was: NodeSpec | undefined, is: NodeSpec, moved: ReadonlySet<string>): ModuleSpec[] {
  const after = new Map(is.modules?.map(({ id, core }) => [id, core]));
  return was?.modules?.filter(({ id, core }) => moved.has(id) && after.get(id) !== core) ?? [];
}

function fabricStep(phase: FabricPhase, was: FabricSpec, is: FabricSpec): Step {
  const before = new Map(was.rules.map((rule) => [rule.id, rule]));
  const kept = new Set(is.rules.map(({ id }) => id));
  const written = is.rules.filter((rule) => !sameContent(before.get(rule.id), rule));
  const removed = was.rules.filter(({ id }) => !kept.has(id));
  const rerouted = phase === 'steer' ? [...removed, ...written.filter(({ id }) => before.has(id))] : [];
  const parts = [
    [written.length, 'written'],
    [removed.length, 'removed'],
  ] as const;
  return {
    kind: STEP_KIND[phase],
    subject: 'fabric',
    summary: parts.flatMap(([n, what]) => (n > 0 ? [`${count(n, 'rule')} ${what}`] : [])).join(', '),
    interrupts: [...new Set(rerouted.flatMap(({ chain_id }) => (chain_id === null ? [] : [chain_id])))],
  };
}

/** Whether the NF itself is unchanged and only its outputs differ. */
function isOnlyRewired(before: InstanceSpec, after: InstanceSpec): boolean {
  const own = ({ nf, driver, core, config, metadata }: InstanceSpec) => ({ nf, driver, core, config, metadata });
  return sameContent(own(before), own(after));
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
