import { BadProblem } from '../bad-problem.js';
import { requireTime } from '../budget.js';
import { type ChainAnswer, type ChainOptions, chain } from './chain.js';
import { copyOf, giveCapacity, type PreparedNetwork, takeCapacity } from './network.js';
import type { ChainRequest } from './problem.js';

/** A request that comes after those before it; `ended` are earlier ones, by index, whose flows are over by then. */
export interface Arrival {
  readonly request: ChainRequest;
  readonly ended: readonly number[];
}

export interface Served {
  /** By arrival. */
  readonly answers: readonly ChainAnswer[];
  readonly qualified: number;
  readonly violated: number;
  readonly deployments: number;
  /** Of the paths that qualify; `null`: none does. */
  readonly mean_latency_us: number | null;
  /** What is left at the end. */
  readonly network: PreparedNetwork;
}

/**
 * Chains requests one after the other on one network: a path that qualifies takes its capacity until its flow has ended,
 * options that it asked for run from then on, and a path that breaks its SLA takes nothing. The network that is passed
 * in stays as it is. The steps of the budget are those of each request, its time is that of all. Errors: `BadProblem`;
 * `OutOfTime` before the last request has its answer.
 */
export function serveInTurn(network: PreparedNetwork, arrivals: readonly Arrival[], options: ChainOptions): Served {
  const state = copyOf(network);
  const answers: ChainAnswer[] = [];
  const holding = new Set<number>();
  let deployments = 0;
  let latency = 0;
  arrivals.forEach(({ request, ended }, i) => {
    requireTime(options.budget ?? {});
    for (const j of ended) {
      if (!(Number.isInteger(j) && j >= 0 && j < i))
        throw new BadProblem(`/${i}/ended`, `must name earlier arrivals, not ${j}`);
      if (holding.delete(j)) giveCapacity(state, answers[j]!.path, arrivals[j]!.request.throughput_bps);
    }
    const answer = chain(state, request, { ...options, seed: options.seed + i });
    answers.push(answer);
    if (answer.status !== 'qualifies') return;
    takeCapacity(state, answer.path, request.throughput_bps);
    holding.add(i);
    deployments += answer.deployments.length;
    latency += answer.latency_us!;
  });
  const qualified = answers.filter(({ status }) => status === 'qualifies').length;
  return {
    answers,
    qualified,
    violated: answers.filter(({ status }) => status === 'violates').length,
    deployments,
    mean_latency_us: qualified > 0 ? latency / qualified : null,
    network: state,
  };
}
