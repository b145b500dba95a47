import type { Link } from '@orrery/contract';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { useCallback } from 'react';
import { useInfrastructure } from '../api/queries.js';
import { useDownLinkIds, useWantSamples } from '../stream/hooks.js';

const WANTED = [samplePrefix('link')];

/** Which links of a node are down: "link server-2-leaf-1 is down"; null: none is known to be. */
export function downLinksText(
  nodeId: string,
  links: readonly Pick<Link, 'id' | 'a' | 'b'>[],
  downIds: readonly string[],
): string | null {
  const down = links.filter(({ id, a, b }) => (a.node === nodeId || b.node === nodeId) && downIds.includes(id));
  if (down.length === 0) return null;
  const names = down.map(({ id }) => id).join(', ');
  return down.length === 1 ? `link ${names} is down` : `links ${names} are down`;
}

/** `downLinksText` of any node, by what switches and the twin measure now. */
export function useDownLinksText(): (nodeId: string) => string | null {
  useWantSamples(WANTED);
  const { data } = useInfrastructure();
  const downIds = useDownLinkIds();
  return useCallback((nodeId) => downLinksText(nodeId, data?.links ?? [], downIds), [data, downIds]);
}
