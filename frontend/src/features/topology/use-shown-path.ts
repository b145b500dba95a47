import type { Chain, Deployment, IngressWay } from '@orrery/contract';
import { useMemo } from 'react';
import { usePlan } from '../../shared/api/queries.js';
import { useSetUrlParams, useUrlParam } from '../../shared/ui/url-state.js';
import type { Scene } from './model.js';
import { type Overlay, overlayOf, waysOf } from './overlay.js';

export interface ShownPath {
  readonly chainId: string;
  /** Empty: all ways. */
  readonly wayId: string;
  /** Ways of the chain as it runs; none: its ingress has none. */
  readonly ways: readonly IngressWay[];
  readonly overlay: Overlay | null;
  readonly show: (chainId: string | null, wayId: string | null) => void;
}

const NO_WAYS: readonly IngressWay[] = [];

/** The path of a chain, or of one of its ways, that is shown; in the URL as `?chain=` and `?way=`. */
export function useShownPath(
  scene: Scene | null,
  chains: readonly Chain[] | undefined,
  deployments: readonly Deployment[],
): ShownPath {
  const [chainId] = useUrlParam('chain');
  const [wayId] = useUrlParam('way');
  const setParams = useSetUrlParams();
  const deployment = deployments.find(({ chain_id }) => chain_id === chainId);
  const chain = chains?.find(({ id }) => id === chainId);
  const { data: plan } = usePlan(deployment?.plan_id);
  const overlay = useMemo(
    () => (scene && plan && chain && deployment ? overlayOf(scene, plan, chain, wayId || null) : null),
    [scene, plan, chain, deployment, wayId],
  );
  const ways = useMemo(() => (plan && chain && deployment ? waysOf(plan, chain) : NO_WAYS), [plan, chain, deployment]);
  return { chainId, wayId, ways, overlay, show: (id, way) => setParams({ chain: id, way }) };
}
