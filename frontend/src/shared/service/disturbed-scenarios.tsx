import { Text } from '@mantine/core';
import type { NfInstance, ScenarioRun } from '@orrery/contract';
import type { ChainTitle } from '../api/chains.js';
import { useNfInstances, useScenarioRuns } from '../api/queries.js';

interface DisturbedScenariosProps {
  /** A server or board. */
  readonly node: string;
  readonly titleOf: ChainTitle;
}

/** Which scenarios that run have chains on a server or board: what is done to it is in their figures. */
export function DisturbedScenarios({ node, titleOf }: DisturbedScenariosProps) {
  const { data: runs } = useScenarioRuns();
  const { data: instances } = useNfInstances();
  return disturbed(node, runs?.items ?? [], instances ?? []).map(({ id, scenario_id, chains }) => (
    <Text key={id} size="sm" role="status">
      <strong>Warning:</strong> the scenario {scenario_id} is running, with chains on {node}:{' '}
      {chains.map((chain) => titleOf(chain)).join(', ')}. A drain disturbs it, so that its figures say little.
    </Text>
  ));
}

function disturbed(node: string, runs: readonly ScenarioRun[], instances: readonly NfInstance[]) {
  const here = new Set(
    instances.flatMap(({ server, slot, chain_id }) => (server === node || slot?.board === node ? [chain_id] : [])),
  );
  return runs.flatMap(({ id, scenario_id, state, chains }) => {
    const hit = chains.filter((chain) => here.has(chain));
    return state === 'running' && hit.length > 0 ? [{ id, scenario_id, chains: hit }] : [];
  });
}
