import type { EngineAbility, NodeSpec } from '@orrery/contract';
import { CompileError } from './compile-error.js';

/** The properties of an engine that affect its graph. */
export interface EngineTraits {
  readonly workers: number;
  /** Of the clock that it counts cycles by. */
  readonly cycles_per_second: number;
  /** NFs of the engine; null: unknown. */
  readonly nfs: readonly string[] | null;
  /** What it declares that it can run beside NFs. */
  readonly declared: readonly EngineAbility[];
}

/** Abilities of an engine that the compiler can use. A kind of module that it learns to build is added here. */
export const COMPILED_ABILITIES: ReadonlySet<EngineAbility> = new Set([
  'mirror',
  'merge',
  'bytestream',
  'scheduler',
  'round-robin',
  'priority',
  'weighted-fair',
  'rate-limit',
]);

/** Without its modules beside NFs or its scheduler trees, the data plane would differ from the plan. Errors: `CompileError`. */
export function refuseWhatIsLacking(
  { instances, modules = [], schedulers = [] }: NodeSpec,
  engine: EngineTraits,
): void {
  const able = (ability: string) => (engine.declared as readonly string[]).includes(ability);
  const lacking = modules.findIndex(({ kind }) => kind !== 'queue' && !able(kind));
  if (lacking >= 0) {
    const { kind, id } = modules[lacking]!;
    throw new CompileError(`/modules/${lacking}/kind`, `the engine cannot run ${id}: it has no module ${kind}`);
  }
  for (const [list, nodes] of Object.entries({ instances, modules })) {
    const reads = nodes.findIndex((node) => 'bytestream' in node && node.bytestream);
    if (reads >= 0 && !able('bytestream'))
      throw new CompileError(`/${list}/${reads}/bytestream`, 'the engine does not reassemble TCP streams');
  }
  schedulers.forEach(({ tree }, i) => {
    if (!able('scheduler'))
      throw new CompileError(`/schedulers/${i}/tree`, 'the engine serves tasks in turn and has no scheduler trees');
    const policy = tree.findIndex(({ kind }) => kind !== 'task' && !able(kind));
    if (policy >= 0)
      throw new CompileError(`/schedulers/${i}/tree/${policy}/kind`, `the engine has no policy ${tree[policy]!.kind}`);
  });
}
