import type { Infrastructure, Plan, PlannedChain, SwitchAction } from '@orrery/contract';
import { nfInstances } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { switchPlaces } from '../lower/switch/topology.js';
import type { PlanInput } from '../plan/input.js';
import { headsOf } from './head-of-chain.js';
import { nfOnSwitch } from './nf-on-switch.js';
import type { OnSwitch } from './on-switches.js';

/** Of an NF that stays on servers. */
export interface Stays {
  readonly pgraph_node: string;
  readonly because: string;
}

type Asked = Pick<PlanInput, 'chains' | 'descriptors' | 'infrastructure' | 'implementations' | 'base'>;

/** The NFs that switches could run of the chains that ask for it, and why the others stay on servers. */
export function switchCandidates(
  input: Asked,
  pgraph: Plan['pgraph'],
): { readonly candidates: readonly OnSwitch[]; readonly stay: readonly Stays[] } {
  const stay: Stays[] = [];
  const catalogue = indexDescriptors(input.descriptors);
  const sizes = new Map(pgraph.nodes.map((node) => [node.id, node]));
  const candidates = input.chains.flatMap((chain) => {
    if (chain.offload !== 'where-possible') return [];
    const { definition, chain_id } = chain;
    const { heads, others } = headsOf(definition);
    const idOf = (node: string) => pgraphNodeId(definition.name, node);
    for (const [node, because] of others) stay.push({ pgraph_node: idOf(node), because });
    const switches = entrySwitches(chain, input.infrastructure);
    const cut = new Set<string>();
    return heads.flatMap(({ node, from }): OnSwitch[] => {
      const pgraph_node = idOf(node.id);
      const descriptor = catalogue.get(node.nf)!;
      const found = nfOnSwitch(descriptor, node.config);
      const because = cut.has(from)
        ? 'It is not at the beginning of its chain: packets come to it from another NF on a server.'
        : 'because' in found
          ? found.because
          : obstacleOf(chain, node.id, pgraph_node, found.runs.program, switches, input);
      if (because || 'because' in found) {
        cut.add(from);
        stay.push({ pgraph_node, because: because ?? '' });
        return [];
      }
      const { load_bps, cores_needed } = sizes.get(pgraph_node)!;
      const class_edge = `${definition.name}.${from}`;
      const about = { chain_id, node_id: node.id, nf: node.nf, pgraph_node, class_edge };
      return [{ ...about, runs: found.runs, switches, load_bps, cores: cores_needed }];
    });
  });
  return { candidates, stay };
}

function obstacleOf(
  chain: PlannedChain,
  node: string,
  pgraph_node: string,
  program: OnSwitch['runs']['program'],
  switches: readonly string[],
  { implementations = [], base, infrastructure }: Asked,
): string | null {
  const { definition, chain_id, splits = [] } = chain;
  if (definition.class_slos.length > 0)
    return 'Objectives between classes of the chain are kept by the servers that run its NFs.';
  if (splits.some(({ node_id }) => node_id === node)) return 'Its flows are asked to be split over instances.';
  const asked = implementations.find((it) => it.chain_id === chain_id && it.node_id === node);
  if (asked)
    return `It is asked to run ${asked.on === 'board' ? 'on a board' : asked.on === 'container' ? 'in a container' : 'in software'}.`;
  const elsewhere = nfInstances(base?.graph).find((it) => it.pgraph_node === pgraph_node && it.driver !== 'engine');
  if (elsewhere)
    return `It runs ${elsewhere.driver === 'board' ? 'on a board' : 'in a container or process'}, where it was asked to.`;
  if (switches.length === 0) return 'No switch has a port of a host of its class.';
  if (program === 'limit' && switches.length > 1)
    return `Its packets enter at ${switches.length} switches, and the tokens of a meter are those of one.`;
  const needed: SwitchAction = program === 'limit' ? 'meter' : 'forward';
  const unable = infrastructure.switches.find(({ id, actions }) => switches.includes(id) && !actions.includes(needed));
  return unable ? `${unable.id} lacks the action ${needed}.` : null;
}

/** Where the packets of a chain enter. */
function entrySwitches({ definition }: PlannedChain, infrastructure: Infrastructure): string[] {
  const from = new Set(definition.traffic_class.from);
  return switchPlaces(infrastructure)
    .filter(({ attached }) => attached.some(({ endpoint }) => from.has(endpoint.node)))
    .map(({ id }) => id);
}
