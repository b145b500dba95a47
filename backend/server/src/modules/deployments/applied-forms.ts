import { isDeepStrictEqual } from 'node:util';
import type { NodeSpec, Observed } from '@orrery/contract';

interface Applied {
  readonly spec: NodeSpec;
  /** Of the engine that ran it. */
  readonly enginePid: number | null;
  /** The desired state that was looked at last. */
  readonly latest: NodeSpec;
  /** Chains that were to be otherwise since: which form the engine has of them is not known. */
  readonly changed: ReadonlySet<string>;
}

/**
 * In which form servers last had each chain. An agent gives its engine no graph while anything outside the engine is missing,
 * so a server that lacks an NF of one chain may run an earlier form of another.
 */
export class AppliedForms {
  private readonly byNode = new Map<string, Applied>();

  /** To be told every desired state with the latest report. A server without a report keeps what it had. */
  follow(nodes: Readonly<Record<string, NodeSpec>>, observedOf: (node: string) => Observed | null): void {
    for (const node of this.byNode.keys()) if (!(node in nodes)) this.byNode.delete(node);
    for (const [node, spec] of Object.entries(nodes)) {
      const observed = observedOf(node);
      if (observed?.state === 'converged' && observed.generation === spec.generation) {
        this.byNode.set(node, { spec, enginePid: observed.engine_pid, latest: spec, changed: new Set() });
        continue;
      }
      const applied = this.byNode.get(node);
      if (!applied || applied.latest === spec) continue;
      const differ = chainsOf(applied.spec, spec).filter(
        (chain) => !isDeepStrictEqual(partOf(applied.spec, chain), partOf(spec, chain)),
      );
      this.byNode.set(node, { ...applied, latest: spec, changed: new Set([...applied.changed, ...differ]) });
    }
  }

  /**
   * Whether the server surely has the chain as it is to be. Precondition: all of the chain's instances there run; those of an
   * engine are reported so only if its graph has them.
   */
  has(node: string, chainId: string, spec: NodeSpec, observed: Observed): boolean {
    const applied = this.byNode.get(node);
    const isUnchanged = applied !== undefined && !applied.changed.has(chainId);
    if (!isUnchanged && observed.generation !== spec.generation) return false;
    const runs = spec.instances.some(({ chain_id }) => chain_id === chainId);
    return runs || (applied !== undefined && applied.enginePid === observed.engine_pid);
  }
}

function chainsOf(...specs: readonly NodeSpec[]): string[] {
  const all = specs.flatMap(({ instances, modules = [], exits }) => [...instances, ...modules, ...exits]);
  return [...new Set(all.map(({ chain_id }) => chain_id))];
}

function partOf(spec: NodeSpec, chainId: string) {
  const ofChain = ({ chain_id }: { chain_id: string }) => chain_id === chainId;
  const instances = spec.instances.filter(ofChain);
  const modules = (spec.modules ?? []).filter(ofChain);
  const ids = new Set([...instances, ...modules].map(({ id }) => id));
  return {
    instances,
    modules,
    hops: spec.hops.filter(({ instance_id }) => ids.has(instance_id)),
    exits: spec.exits.filter(ofChain),
  };
}
