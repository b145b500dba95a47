import type { Plan, PlannedChain } from '@orrery/contract';
import type { Path } from '../check/paths.js';
import { drawnForm } from '../igraph/chain-form.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { linePaths } from '../parallel/chain-steps.js';
import { linearChains } from '../parallel/parallel-forms.js';
import { classRate } from '../slo/class-forecasts.js';

/**
 * The NFs in line of which the plan shows a parallel form: of a chain that runs in parallel steps, the lines that are
 * formed; of any other, each distinct path, as a possibility.
 */
export function analysedPaths(pgraph: Plan['pgraph'], chain: PlannedChain): readonly Path[] {
  return chain.execution === 'parallel' ? linePaths(drawnForm(chain, pgraph)) : linearChains(chain);
}

/** Estimate of what takes an analysed path. */
export function analysedRate(pgraph: Plan['pgraph'], chain: PlannedChain, path: Path): number {
  if (chain.execution !== 'parallel') return classRate(pgraph, chain, path);
  const first = pgraphNodeId(chain.definition.name, path.nodes[0]!);
  return pgraph.nodes.find(({ id }) => id === first)!.load_bps;
}
