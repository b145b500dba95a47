import type { Chain } from '@orrery/contract';
import { useDeployments } from '../api/queries.js';
import { reasonText } from '../format/ending.js';
import { useSloRows } from '../stream/slo-rows.js';
import { StatusBadge } from '../ui/status-badge.js';
import { useHalted } from './halted.js';
import { lossOf, missText, stateWithLoss } from './slo-miss.js';
import { STATE_WORDS } from './state-words.js';

interface ChainStateProps {
  readonly chainId: string;
  readonly state: Chain['deployment_state'];
}

/** State of a chain; of one that is degraded, failed or does not get further also why. */
export function ChainState({ chainId, state: told }: ChainStateProps) {
  const { data: deployments = [] } = useDeployments();
  const loss = lossOf(useSloRows().rows, chainId);
  const state = stateWithLoss(told, loss);
  const halted = useHalted(chainId);
  if (halted)
    return (
      <>
        <StatusBadge state="FAILED_TEMP" label={state === 'undeploying' ? 'taking down failed' : 'deployment failed'} />{' '}
        <span className="muted">{reasonText(halted)}</span>
      </>
    );
  const reason =
    state === told ? deployments.find(({ chain_id }) => chain_id === chainId)?.reason : loss && missText(loss);
  return (
    <>
      <StatusBadge state={state} label={STATE_WORDS[state]} />{' '}
      {(state === 'degraded' || state === 'failed') && reason && <span className="muted">{reasonText(reason)}</span>}
    </>
  );
}
