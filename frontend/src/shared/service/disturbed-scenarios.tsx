import { Text } from '@mantine/core';
import type { ChainTitle } from '../api/chains.js';
import { useScenarioRuns } from '../api/queries.js';

interface DisturbedScenariosProps {
  /** A server or board. */
  readonly node: string;
  /** The chains that use it. */
  readonly used: readonly string[];
  readonly titleOf: ChainTitle;
}

/** Which scenarios that run have chains on a server or board: what is done to it is in their figures. */
export function DisturbedScenarios({ node, used, titleOf }: DisturbedScenariosProps) {
  const { data: runs } = useScenarioRuns();
  return (runs?.items ?? []).flatMap(({ id, scenario_id, state, chains }) => {
    const hit = chains.filter((chain) => used.includes(chain));
    if (state !== 'running' || hit.length === 0) return [];
    return [
      <Text key={id} size="sm" role="status">
        <strong>Warning:</strong> the scenario {scenario_id} is running, with chains on {node}:{' '}
        {hit.map((chain) => titleOf(chain)).join(', ')}. A drain disturbs it, so that its figures say little.
      </Text>,
    ];
  });
}
