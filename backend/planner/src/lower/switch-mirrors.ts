import {
  crossesServers,
  type GraphEdge,
  type Infrastructure,
  type InstanceGraph,
  type SwitchNode,
} from '@orrery/contract';
import { grouped } from '../grouped.js';
import { ASSUMED_ABILITIES } from './switch/abilities.js';
import type { AbilitiesOf } from './switch/lower-fabric.js';
import { switchPlaces } from './switch/topology.js';

/** Below this, a switch would save no traffic of the mirror's link. */
const FEWEST_BRANCHES = 2;

/**
 * The mirrors that send one packet for several branches on other servers, which the switch of their server copies (HydraNF
 * 6.5.2, figure 6.8 b).
 */
export function mirrorsInSwitch(
  graph: InstanceGraph,
  infrastructure: Infrastructure,
  abilitiesOf: AbilitiesOf,
): ReadonlySet<string> {
  const mirrors = graph.nodes.filter((node) => node.kind === 'mirror');
  if (mirrors.length === 0) return new Set();
  const copying = new Set(copyingSwitches(infrastructure, abilitiesOf).map(({ id }) => id));
  const able = new Set(
    switchPlaces(infrastructure).flatMap(({ id, dataPlanes }) => (copying.has(id) ? [...dataPlanes.keys()] : [])),
  );
  const leaving = grouped(graph.edges, ({ from }) => from ?? '');
  const copied = mirrors.filter(({ id, server }) => {
    return able.has(server) && awayBranches(leaving.get(id) ?? []).length >= FEWEST_BRANCHES;
  });
  return new Set(copied.map(({ id }) => id));
}

/** The switches that copy packets for mirrors: their agents can, and the infrastructure has it among their actions. */
export function copyingSwitches({ switches }: Infrastructure, abilitiesOf: AbilitiesOf): SwitchNode[] {
  return switches.filter(
    ({ id, actions }) => actions.includes('mirror') && (abilitiesOf.get(id) ?? ASSUMED_ABILITIES).mirror,
  );
}

/** The edges out of a mirror to branches that wholly begin at one instance on another server. */
export function awayBranches(leaving: readonly GraphEdge[]): GraphEdge[] {
  const branches = [...grouped(leaving, ({ copy }) => String(copy)).values()];
  return branches.flatMap((edges) => (edges.length === 1 && crossesServers(edges[0]!) ? edges : []));
}
