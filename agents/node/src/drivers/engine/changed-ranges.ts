import { isDeepStrictEqual } from 'node:util';
import type { EngineGraph, EngineModule } from '@orrery/contract';

type Split = Extract<EngineModule, { kind: 'hash_split' }>;

/** The splits with new ranges, if that is all that distinguishes the graphs; null: something else does, or nothing. */
export function changedRanges(before: EngineGraph, now: EngineGraph): Split[] | null {
  const changed: Split[] = [];
  const old = new Map(before.modules.map((module) => [module.name, module]));
  for (const module of now.modules) {
    const former = old.get(module.name);
    if (isDeepStrictEqual(former, module)) continue;
    if (!isSplit(module) || !former || !isSplit(former)) return null;
    if (!isDeepStrictEqual(withoutRanges(former), withoutRanges(module))) return null;
    changed.push(module);
  }
  const rest = ({ generation: _, modules, ...others }: EngineGraph) => ({ ...others, modules: modules.length });
  return changed.length > 0 && isDeepStrictEqual(rest(before), rest(now)) ? changed : null;
}

function isSplit(module: EngineModule): module is Split {
  return module.kind === 'hash_split';
}

function withoutRanges({ config: { ranges: _, ...config }, ...module }: Split) {
  return { ...module, config };
}
