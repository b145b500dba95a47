import type { Instance, InstanceGraph, MergeNode, MirrorNode } from '@orrery/contract';

/** A parallel step: what lies between a mirror and the merge of its copies. */
export interface Step {
  readonly mirror: MirrorNode;
  readonly merge: MergeNode;
  /** NFs of its branches, also of steps inside them. */
  readonly nfs: readonly Instance[];
  /** Merges of the steps inside its branches. */
  readonly inner: readonly MergeNode[];
  /** Of its NFs, those that tell the merge of packets that they drop. */
  readonly announcing: ReadonlySet<string>;
}

/** The parallel steps of a graph, by merge. */
export function stepsOf({ nodes, edges }: InstanceGraph): ReadonlyMap<string, Step> {
  const merges = new Map(nodes.flatMap((node) => (node.kind === 'merge' ? [[node.id, node] as const] : [])));
  if (merges.size === 0) return new Map();
  const mirrors = new Map(nodes.flatMap((node) => (node.kind === 'mirror' ? [[node.id, node] as const] : [])));
  const telling = new Set(edges.flatMap(({ direction, from }) => (direction === 'no-op' && from ? [from] : [])));
  /** The merge and those around it. */
  const around = (id: string | null | undefined): string[] => {
    const merge = id ? merges.get(id) : undefined;
    return merge ? [merge.id, ...around(merge.within)] : [];
  };
  const nfs = nodes.flatMap((node) => (node.kind === 'nf' && node.merge ? [node] : []));
  return new Map(
    [...merges.values()].flatMap((merge) => {
      const mirror = mirrors.get(merge.mirror);
      if (!mirror) return [];
      const own = nfs.filter((nf) => around(nf.merge).includes(merge.id));
      const inner = [...merges.values()].filter(({ within }) => around(within).includes(merge.id));
      const announcing = new Set(own.flatMap(({ id }) => (telling.has(id) ? [id] : [])));
      return [[merge.id, { mirror, merge, nfs: own, inner, announcing }]];
    }),
  );
}
