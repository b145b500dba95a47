import {
  type FlowRange,
  flowIdentity,
  type OutputSpec,
  type Plan,
  type SplitFlow,
  SwitchAbilities,
} from '@orrery/contract';
import fc from 'fast-check';
import p4 from '../../../contract/examples/valid/SwitchAbilities.takes-splits.json' with { type: 'json' };
import { fabricIn, nodesIn } from '../transition/phases.js';

/** By which switches know the flows that they are told. */
const FIELDS = ['ip.src', 'ip.dst', 'ip.proto'] as const;

/** A switch that hashes as engines do and takes over their splits. */
export const P4 = SwitchAbilities.parse(p4);

/** What engines and switches have. */
export type Running = Pick<Plan, 'fabric' | 'nodes'>;
export const inForce = ({ fabric, nodes }: Plan): Running => ({ fabric, nodes });
export const holds = ({ lo, hi }: FlowRange, id: number) => lo <= id && id < hi;

/** What engines know of flows in progress: by split, where each goes on. */
export class Memory {
  private readonly gates = new Map<string, string>();

  /** The target of a flow at an output, as `hash_split` has it. */
  take(module: string, flow: SplitFlow, { targets, key, keep_flows }: OutputSpec): OutputSpec['targets'][number]['to'] {
    if (key.length === 0) return targets[0]!.to;
    const name = `${module} ${JSON.stringify(flow)}`;
    const kept = targets.find(({ to }) => JSON.stringify(to) === this.gates.get(name));
    const chosen = (kept && keep_flows ? kept : targets.find(({ range }) => holds(range, flowIdentity(flow)))!).to;
    if (keep_flows) this.gates.set(name, JSON.stringify(chosen));
    return chosen;
  }

  /** What is not there any more is forgotten. */
  keepOnly({ nodes }: Running): void {
    const there = new Set(Object.values(nodes).flatMap(({ modules = [] }) => modules.map(({ id }) => id)));
    for (const name of this.gates.keys()) if (!there.has(name.slice(0, name.indexOf(' ')))) this.gates.delete(name);
  }
}

/** The instance that a packet of the flow meets; null: it is lost. */
export function instanceOf({ fabric, nodes }: Running, memory: Memory, flow: SplitFlow): string | null {
  const rule = fabric.rules.find(({ kind }) => kind === 'classify');
  if (rule?.kind !== 'classify') return null;
  const same = (other: SplitFlow) =>
    flowIdentity(other) === flowIdentity(flow) && FIELDS.every((field) => other[field] === flow[field]);
  let to =
    rule.exceptions?.flows.find((it) => same(it.flow)) ??
    (rule.targets.length === 1 ? rule.targets[0] : rule.targets.find(({ range }) => holds(range, flowIdentity(flow))));
  for (let crossings = 0; to && crossings < 4; crossings++) {
    const { server, hop } = to;
    const node = nodes[server];
    let id = node?.hops.find((it) => it.hop === hop)?.instance_id;
    for (let steps = 0; id !== undefined && steps < 4; steps++) {
      if (node!.instances.some((it) => it.id === id)) return id;
      const module = node!.modules?.find((it) => it.id === id);
      if (module?.kind !== 'queue') return null;
      const next = memory.take(id, flow, module.outputs[0]!);
      if (next.kind === 'hop') {
        const onward = fabric.rules.find((it) => it.kind === 'hop' && it.hop === next.hop);
        to = onward?.targets[0];
        break;
      }
      id = next.kind === 'instance' ? next.instance_id : undefined;
    }
    if (id === undefined) return null;
  }
  return null;
}

/** What runs in each phase from one plan to the next, the last as planned. */
export function between(before: Plan, after: Plan): Running[] {
  const nodes = (phase: 'prepare' | 'switch' | 'clean') => nodesIn(phase, before.nodes, after.nodes);
  const fabric = (phase: 'extend' | 'steer' | 'settle') => fabricIn(phase, before.fabric, after.fabric, () => true);
  return [
    { nodes: nodes('prepare'), fabric: before.fabric },
    { nodes: nodes('prepare'), fabric: fabric('extend') },
    { nodes: nodes('prepare'), fabric: fabric('steer') },
    { nodes: nodes('switch'), fabric: fabric('steer') },
    { nodes: nodes('clean'), fabric: fabric('steer') },
    inForce(after),
  ];
}

/** Flows in the order in which they begin, each of an identity of its own. */
export const beginningFlows = fc.uniqueArray(
  fc.record({
    'ip.src': fc.integer({ min: 1, max: 200 }).map((n) => `10.0.1.${n}`),
    'ip.dst': fc.constant('10.0.2.1'),
    'ip.proto': fc.constantFrom(6, 17),
    'port.src': fc.integer({ min: 1024, max: 65_535 }),
    'port.dst': fc.constant(80),
  }),
  { minLength: 40, maxLength: 60, selector: flowIdentity },
);
