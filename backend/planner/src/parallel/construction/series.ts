/** A service processing graph: steps one after another. Its NFs are indices into the chain. */
export type Series = readonly Step[];

/** One NF; or a mirror, branches that run side by side on copies of the packet, and the merge of what they give. */
export type Step =
  | { readonly kind: 'nf'; readonly nf: number }
  | { readonly kind: 'parallel'; readonly branches: readonly Series[] };

export interface Shape {
  readonly latency_us: number;
  /** Places where packets are copied; as many merges. */
  readonly mirrors: number;
  readonly merges: number;
  /** Copies made of each packet, and xors to merge them: the sum of branches less one. */
  readonly copies: number;
  /** Most branches that hold the packet at once. */
  readonly branches: number;
}

export interface StepCost {
  readonly mirror_us: number;
  readonly merge_us: number;
}

/**
 * Latency and overhead of a graph. A mirror and a merge add their cost once to the latency, since the merge xors each
 * copy as it arrives (the buffer and the counter of HydraNF 6.5.1), so that only the last waits for its own.
 */
export function shapeOf(series: Series, latency_us: ArrayLike<number>, cost: StepCost): Shape {
  let [latency, mirrors, copies, branches] = [0, 0, 0, 1];
  for (const step of series) {
    if (step.kind === 'nf') {
      latency += latency_us[step.nf]!;
      continue;
    }
    const shapes = step.branches.map((it) => shapeOf(it, latency_us, cost));
    latency += Math.max(...shapes.map((it) => it.latency_us)) + (cost.mirror_us + cost.merge_us);
    mirrors += 1 + shapes.reduce((sum, it) => sum + it.mirrors, 0);
    copies += shapes.length - 1 + shapes.reduce((sum, it) => sum + it.copies, 0);
    branches = Math.max(
      branches,
      shapes.reduce((sum, it) => sum + it.branches, 0),
    );
  }
  return { latency_us: latency, mirrors, merges: mirrors, copies, branches };
}

export function inOrder(nfs: readonly number[]): Series {
  return nfs.map((nf) => ({ kind: 'nf', nf }));
}

/** Branches side by side; a branch that is itself one parallel step joins the others. */
export function sideBySide(branches: readonly Series[]): Series {
  const flat = branches.flatMap((it) => {
    const only = it[0];
    return it.length === 1 && only?.kind === 'parallel' ? only.branches : [it];
  });
  return flat.length === 1 ? flat[0]! : [{ kind: 'parallel', branches: flat }];
}

/** The same graph, with NFs that directly follow one another, and branches, in the order of the chain. */
export function tidied(series: Series): Series {
  const out: Step[] = [];
  let run: number[] = [];
  const flush = () => {
    out.push(...inOrder(run.sort((a, b) => a - b)));
    run = [];
  };
  for (const step of series) {
    if (step.kind === 'nf') run.push(step.nf);
    else {
      flush();
      const branches = step.branches.map(tidied).sort((a, b) => nfsOf(a)[0]! - nfsOf(b)[0]!);
      out.push({ kind: 'parallel', branches });
    }
  }
  flush();
  return out;
}

/** NFs of a graph, from left to right. */
export function nfsOf(series: Series): number[] {
  return series.flatMap((step) => (step.kind === 'nf' ? [step.nf] : step.branches.flatMap(nfsOf)));
}

/** The graph on one line: `(nat | firewall), balancer`. */
export function spgText(series: Series, ids: readonly string[]): string {
  return series
    .map((step) =>
      step.kind === 'nf' ? ids[step.nf]! : `(${step.branches.map((it) => spgText(it, ids)).join(' | ')})`,
    )
    .join(', ');
}
