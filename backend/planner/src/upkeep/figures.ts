import type { InstanceGraph, Plan } from '@orrery/contract';
import type { Budget } from '../budget.js';
import { placedNodes } from '../igraph/graph.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { trafficOf } from '../plan/traffic.js';
import { coreUse, type PlacedInput } from '../slo/placed.js';
import { predictSlos } from '../slo/predict.js';

/** What a placement makes of loads. */
export interface PlacementFigures {
  readonly cross_traffic_bps: number;
  readonly total_traffic_bps: number;
  readonly cores: number;
  /** Cores with more on them than plans hand out, as `server/core`. */
  readonly overloaded: readonly string[];
  /** Objectives of latency and throughput that are predicted to be missed, as `chain/objective`. */
  readonly missed: readonly string[];
}

const FULL = CORE_BUDGET * (1 + 1e-9);

/** The figures of a graph with measured loads. `planned`: the same graph as it was planned. Errors: `OutOfTime`. */
export function figuresOf(
  about: Omit<PlacedInput, 'graph'>,
  planned: InstanceGraph,
  measured: InstanceGraph,
  time: Pick<Budget, 'expired'>,
): PlacementFigures {
  const { cross_bps, total_bps } = trafficOf(measured);
  const cores = placedNodes(measured).reduce((sum, { core_share }) => sum + core_share, 0);
  const overloaded = [...coreUse(measured)].flatMap(([core, used]) => (used > FULL ? [core] : [])).sort();
  const chains = atMeasuredRates(about.chains, planned, measured);
  const slos = predictSlos({ ...about, chains, graph: measured }, time);
  return {
    cross_traffic_bps: cross_bps,
    total_traffic_bps: total_bps,
    cores,
    overloaded,
    missed: slos.flatMap(({ chain_id, slo_id, met }) => (met ? [] : [`${chain_id}/${slo_id}`])).sort(),
  };
}

/** The chains with what enters them now as the rates of their classes; nothing is predicted for one that nothing enters. */
function atMeasuredRates(
  chains: PlacedInput['chains'],
  planned: InstanceGraph,
  measured: InstanceGraph,
): Plan['chains'] {
  const [was, is] = [enteringOf(planned), enteringOf(measured)];
  return chains.map((chain) => {
    const { chain_id, definition } = chain;
    const [before, now] = [was.get(chain_id) ?? 0, is.get(chain_id) ?? 0];
    const { traffic_class } = definition;
    if (now === 0) return { ...chain, definition: { ...definition, slos: [] } };
    const rate_bps = before > 0 ? (traffic_class.rate_bps * now) / before : now;
    return { ...chain, definition: { ...definition, traffic_class: { ...traffic_class, rate_bps } } };
  });
}

function enteringOf({ edges }: InstanceGraph): ReadonlyMap<string, number> {
  const entering = new Map<string, number>();
  for (const { chain_id, from, direction, rate_bps } of edges)
    if (from === null && direction === 'forward') entering.set(chain_id, (entering.get(chain_id) ?? 0) + rate_bps);
  return entering;
}
