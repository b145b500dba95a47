import { lineageOf, type NfInstance } from '@orrery/contract';
import { parseSampleKey, type SampleName } from '@orrery/contract/sample-keys';
import { useMemo } from 'react';
import { useNfInstances } from '../api/queries.js';

/**
 * What series are about: their subjects; of a chain its instances, and what these run on; of an instance its chain, and what it runs
 * on, or what runs now in its place; of each instance the first of those that followed each other. Null: a series is of the whole
 * network.
 */
export function partsOf(
  keys: readonly string[],
  instances: readonly Pick<NfInstance, 'id' | 'chain_id' | 'server' | 'slot'>[],
): ReadonlySet<string> | null {
  const parts = new Set<string>();
  for (const key of keys) {
    const name = parseSampleKey(key);
    if (!name) return null;
    const own = idsOf(name);
    for (const id of own) parts.add(id);
    for (const { id, chain_id, server, slot } of instances) {
      const first = lineageOf(id);
      const isOf = own.some((each) => each === chain_id || lineageOf(each) === first || id.startsWith(`${each}.`));
      if (isOf) for (const each of [id, first, chain_id, server, slot?.board]) if (each !== undefined) parts.add(each);
    }
  }
  return parts;
}

function idsOf({ subject }: SampleName): string[] {
  return typeof subject === 'string' ? subject.split(' ') : [subject.board];
}

export function useParts(keys: readonly string[]): ReadonlySet<string> | null {
  const { data } = useNfInstances();
  const list = keys.join('\n');
  return useMemo(() => partsOf(list.split('\n'), data ?? []), [list, data]);
}
