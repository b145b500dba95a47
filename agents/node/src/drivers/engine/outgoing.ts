import { FLOW_SPACE, type InstanceSpec, NO_OP_INPUT, type OutputSpec, type Target } from '@orrery/contract';
import type { SplitProbe } from '../nf-driver.js';
import { CompileError } from './compile-error.js';
import { at, entryKey, GATES, type Gate, type GraphParts } from './graph-parts.js';
import { outputsOf, splitOf } from './names.js';
import type { Places } from './places.js';

/** What has outgoing edges. */
type Leaving = Pick<InstanceSpec, 'id' | 'outputs'>;

/** Leads packets out of NFs and modules: by edge to a classifier, over instances by a split. Errors: `CompileError`. */
export class Outgoing {
  readonly splits: SplitProbe[] = [];

  constructor(
    private readonly parts: GraphParts,
    private readonly places: Places,
  ) {}

  /** Name of the classifier, or null if a single edge takes everything. */
  edges({ id, outputs }: Leaving, from: Gate, pointer: string): string | null {
    const { parts } = this;
    if (outputs.length === 0) return null;
    const only = outputs.length === 1 ? outputs[0]! : null;
    if (only && only.match.length === 0) {
      this.edge(id, only, 0, from, `${pointer}/outputs/0`);
      return null;
    }
    if (outputs.length > GATES - 1)
      throw new CompileError(`${pointer}/outputs`, `an instance has at most ${GATES - 1} outgoing edges`, id);
    const name = outputsOf(id);
    const rules = outputs.map(({ match }, gate) => ({ match, gate }));
    parts.add({ name, kind: 'classify', config: { rules, default_gate: null } }, `${pointer}/id`, id);
    parts.link(from.name, from.gate, at(name));
    outputs.forEach((output, i) => {
      this.edge(id, output, i, { name, gate: i }, `${pointer}/outputs/${i}`);
    });
    return name;
  }

  /** The edge with index `i` of `id`. */
  edge(id: string, output: OutputSpec, i: number, from: Gate, pointer: string): void {
    const { parts, places } = this;
    checkRanges(output, `${pointer}/targets`, id);
    const entries = output.targets.map(({ to }, t) => places.target(to, false, `${pointer}/targets/${t}/to`));
    const targets = entries.map(entryKey);
    const here = output.targets.map(({ to }) => places.present(to));
    const distinct = [...new Set(targets)];
    // A split in front of one instance gets to know its flows, for ranges that come later.
    const knowsFlows = output.keep_flows !== undefined && output.key.length > 0;
    if (distinct.length === 1 && !knowsFlows) {
      if (here[0]) parts.link(from.name, from.gate, entries[0]!);
      return;
    }
    if (output.key.length === 0)
      throw new CompileError(`${pointer}/key`, 'several targets need at least one field to hash', id);
    const name = splitOf(id, i);
    const ranges = output.targets.map(({ range }, t) => ({ range, gate: distinct.indexOf(targets[t]!) }));
    const { key, keep_flows } = output;
    const exceptions = keep_flows ? { exceptions: keep_flows } : {};
    parts.add({ name, kind: 'hash_split', config: { key, ranges, ...exceptions } }, pointer, id);
    this.splits.push({
      from_id: id,
      edge_id: output.edge_id,
      module: name,
      targets: distinct.map((to) => output.targets[targets.indexOf(to)]!.to),
    });
    parts.link(from.name, from.gate, at(name));
    distinct.forEach((to, gate) => {
      const first = targets.indexOf(to);
      if (here[first]) parts.link(name, gate, entries[first]!);
    });
  }

  replies(from: Gate, to: Target, pointer: string): void {
    const target = this.places.target(to, true, pointer);
    if (this.places.present(to)) this.parts.link(from.name, from.gate, target);
  }

  noOps(from: Gate, to: Target, pointer: string): void {
    this.parts.link(from.name, from.gate, this.places.target(to, false, pointer, NO_OP_INPUT));
  }
}

/** Ranges divide the space of flows; else a CompileError at the first that does not. */
function checkRanges({ targets }: OutputSpec, pointer: string, id: string): void {
  const ordered = targets.map(({ range }, i) => ({ ...range, i })).sort((a, b) => a.lo - b.lo);
  let end = 0;
  for (const { lo, hi, i } of ordered) {
    const refuse = (why: string) => new CompileError(`${pointer}/${i}/range`, `range ${lo}-${hi} ${why}`, id);
    if (lo >= hi) throw refuse('is empty');
    if (lo < end) throw refuse('overlaps another');
    if (lo > end) throw refuse(`leaves flows from ${end} on without a target`);
    end = hi;
  }
  if (end !== FLOW_SPACE) throw new CompileError(pointer, `no range holds the flows from ${end} on`, id);
}
