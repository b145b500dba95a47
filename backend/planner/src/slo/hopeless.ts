import type { Plan, PlannedChain } from '@orrery/contract';

/** A warning for each objective that no placement on the infrastructure can meet, with its field in the definition. */
export function hopelessObjectives({ slos }: Pick<Plan, 'slos'>, chains: readonly PlannedChain[]): Plan['problems'] {
  return slos.flatMap(({ constraint, chain_id, slo_id, kind }) => {
    if (!constraint) return [];
    const { definition } = chains.find((it) => it.chain_id === chain_id)!;
    const index = definition.slos.findIndex(({ id }) => id === slo_id);
    const figure = (value: number) => Number(value.toPrecision(3));
    const message =
      kind === 'latency'
        ? `no placement on this infrastructure takes less than ${figure(constraint.needed)} µs`
        : `no placement on this infrastructure carries more than ${figure(constraint.available / 1e6)} Mbit/s`;
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
