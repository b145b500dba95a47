import type { Plan, PlannedChain } from '@orrery/contract';
import { chainsById } from '../check/chains-by-id.js';
import { rateText, threeDigits } from '../figures.js';

/** A warning for each objective that no placement on the infrastructure can meet, with its field in the definition. */
export function hopelessObjectives({ slos }: Pick<Plan, 'slos'>, chains: readonly PlannedChain[]): Plan['problems'] {
  return slos.flatMap(({ constraint, chain_id, slo_id, kind }) => {
    if (!constraint) return [];
    const { definition } = chainsById(chains).get(chain_id)!;
    const index = definition.slos.findIndex(({ id }) => id === slo_id);
    const message =
      kind === 'latency'
        ? `no placement on this infrastructure takes less than ${threeDigits(constraint.needed)} µs`
        : `no placement on this infrastructure carries more than ${rateText(constraint.available)}`;
    return [
      {
        chain_id,
        code: 'bad-objective' as const,
        severity: 'warning' as const,
        message,
        pointer: `/slos/${index}/${kind === 'latency' ? 'max_us' : 'min_bps'}`,
      },
    ];
  });
}
