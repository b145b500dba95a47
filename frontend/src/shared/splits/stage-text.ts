import type { StagedSplit } from '@orrery/contract';

/** In which step the split of a first NF is, as a sentence (E2 3.4.4). */
export function stageText({ held, exceptions }: StagedSplit): string {
  if (held)
    return `Split in steps: switches still have ${held.length === 1 ? 'one range' : `${held.length} ranges`}; engines behind them track the flows and share out new ones.`;
  const left = exceptions.length === 0 ? 'no flows' : `${exceptions.length} flow${exceptions.length === 1 ? '' : 's'}`;
  return `Split in steps: switches have taken over the ranges, and ${left} that stayed elsewhere then.`;
}
