import type { FabricSpec, NodeSpec, Plan } from '@orrery/contract';
import { sameContent } from './specs.js';

type PlanStep = Plan['steps'][number];

/**
 * What a node runs while the fabric is switched over: all that it must run afterwards, and beside it the instances,
 * hops and exits that only the running state has. Packets that are under way then still find their next step.
 */
export function transitionNodeSpec(running: NodeSpec | undefined, next: NodeSpec): NodeSpec {
  if (!running) return next;
  const instances = new Set(next.instances.map(({ id }) => id));
  const hops = new Set(next.hops.map(({ hop }) => hop));
  const exits = new Set(next.exits.map(({ exit_id }) => exit_id));
  return {
    ...next,
    instances: [...next.instances, ...running.instances.filter(({ id }) => !instances.has(id))],
    hops: [...next.hops, ...running.hops.filter(({ hop }) => !hops.has(hop))],
    exits: [...next.exits, ...running.exits.filter(({ exit_id }) => !exits.has(exit_id))],
  };
}

interface Desired {
  readonly nodes: Plan['nodes'];
  readonly fabric: FabricSpec;
}

/** Nodes first, then the fabric, then what is no longer needed; steps that change nothing are left out. */
export function stepsBetween(base: Desired | null, next: Desired, servers: readonly string[]): PlanStep[] {
  const steps: Omit<PlanStep, 'ordinal'>[] = [];
  const clean: Omit<PlanStep, 'ordinal'>[] = [];
  for (const id of servers) {
    const spec = next.nodes[id]!;
    const running = base?.nodes[id];
    const before = new Map(running?.instances.map((instance) => [instance.id, instance]));
    const added = spec.instances.filter((instance) => !before.has(instance.id));
    const changed = spec.instances.filter(
      (instance) => before.has(instance.id) && !sameContent(before.get(instance.id), instance),
    );
    const transition = transitionNodeSpec(running, spec);
    const content = ({ instances, hops, exits, nic }: NodeSpec) => ({ instances, hops, exits, nic });
    const empty = { nic: spec.nic, instances: [], hops: [], exits: [] };
    if (!sameMembers(running ? content(running) : empty, content(transition))) {
      const interrupts = changed.filter((instance) => restarts(before.get(instance.id)!, instance));
      steps.push({
        kind: 'prepare-node',
        subject: id,
        summary: `${count(added.length, 'instance')} started, ${count(changed.length, 'instance')} changed on ${id}`,
        interrupts: [...new Set(interrupts.map(({ pipeline_id }) => pipeline_id))],
      });
    }
    if (!sameMembers(content(transition), content(spec))) {
      const gone = transition.instances.length - spec.instances.length;
      const summary = `${count(gone, 'instance')} stopped and unused hops removed on ${id}`;
      clean.push({ kind: 'clean-node', subject: id, summary, interrupts: [] });
    }
  }
  const rules = new Map(base?.fabric.rules.map((rule) => [rule.id, rule]));
  const fresh = next.fabric.rules.filter((rule) => !sameContent(rules.get(rule.id), rule));
  const kept = new Set(next.fabric.rules.map(({ id }) => id));
  const stale = [...rules.values()].filter(({ id }) => !kept.has(id));
  if (fresh.length + stale.length > 0) {
    const rerouted = [...stale, ...fresh.filter(({ id }) => rules.has(id))];
    steps.push({
      kind: 'steer-fabric',
      subject: 'fabric',
      summary: `${count(fresh.length, 'rule')} written, ${count(stale.length, 'rule')} removed`,
      interrupts: [...new Set(rerouted.flatMap(({ pipeline_id }) => (pipeline_id === null ? [] : [pipeline_id])))],
    });
  }
  return [...steps, ...clean].map((step, ordinal) => ({ ordinal, ...step }));
}

type InstanceSpec = NodeSpec['instances'][number];

/** Whether the NF itself is built anew, not only rewired behind it. */
function restarts(before: InstanceSpec, after: InstanceSpec): boolean {
  const own = ({ nf, driver, core, config, metadata }: InstanceSpec) => ({ nf, driver, core, config, metadata });
  return !sameContent(own(before), own(after));
}

function sameMembers(
  a: Pick<NodeSpec, 'instances' | 'hops' | 'exits' | 'nic'>,
  b: Pick<NodeSpec, 'instances' | 'hops' | 'exits' | 'nic'>,
): boolean {
  const keyed = (spec: typeof a) => ({
    nic: spec.nic,
    instances: Object.fromEntries(spec.instances.map((instance) => [instance.id, instance])),
    hops: Object.fromEntries(spec.hops.map((hop) => [hop.hop, hop])),
    exits: Object.fromEntries(spec.exits.map((exit) => [exit.exit_id, exit])),
  });
  return sameContent(keyed(a), keyed(b));
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}

/** Instances by what happens to them; one that runs on after its outputs changed counts as reconfigured. */
export function diffOf(base: Plan | null, instances: Plan['instances'], nodes: Plan['nodes']): Plan['diff'] {
  const before = new Map(base?.instances.map(({ id, server }) => [id, server]));
  const now = new Set(instances.map(({ id }) => id));
  const diff: Plan['diff'] = { added: [], removed: [], moved: [], reconfigured: [], kept: [] };
  const specOf = (plan: Plan['nodes'] | undefined, server: string, id: string) =>
    plan?.[server]?.instances.find((instance) => instance.id === id);
  for (const { id, server } of instances) {
    const was = before.get(id);
    if (was === undefined) diff.added.push(id);
    else if (was !== server) diff.moved.push(id);
    else if (sameContent(specOf(base?.nodes, server, id), specOf(nodes, server, id))) diff.kept.push(id);
    else diff.reconfigured.push(id);
  }
  for (const id of before.keys()) if (!now.has(id)) diff.removed.push(id);
  return diff;
}
