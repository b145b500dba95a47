import type { PlanStrategy } from '@orrery/contract';
import { place } from '@orrery/planner';
import { serveJobs } from '../../../platform/worker-thread/serve-jobs.js';
import { type Graph, instanceGraph, type Rack } from './igraph.js';
import { saturate, type Throughput } from './saturation.js';

/** The instances of a graph in a rack, to be placed by a strategy. */
export interface PlaceJob {
  readonly graph: Graph;
  readonly rack: Rack;
  readonly fill: number;
  readonly strategy: PlanStrategy;
  readonly seed: number;
}

const STEPS = 200;

/** `null`: the strategy found no placement. */
serveJobs(({ graph, rack, fill, strategy, seed }: PlaceJob): Throughput | null => {
  const { problem, rate_bps } = instanceGraph(graph, rack, fill);
  const pinned = problem.items.map(() => null);
  const placement = place(problem, { strategy, seed, budget: { steps: STEPS }, pinned });
  return placement.feasible ? saturate(problem, placement.places, rate_bps, rack) : null;
});
