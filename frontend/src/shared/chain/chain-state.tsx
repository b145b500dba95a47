import type { Chain } from '@orrery/contract';
import { useDeployments } from '../api/queries.js';
import { reasonText } from '../format/ending.js';
import { StatusBadge } from '../ui/status-badge.js';
import { useHalted } from './halted.js';
import { STATE_WORDS } from './state-words.js';

interface ChainStateProps {
  readonly chainId: string;
  readonly state: Chain['deployment_state'];
}

/** State of a chain; of one that is degraded, failed or does not get further also why. */
export function ChainState({ chainId, state }: ChainStateProps) {
  const { data: deployments = [] } = useDeployments();
  const halted = useHalted(chainId);
  if (halted)
    return (
      <>
        <StatusBadge state="FAILED_TEMP" label={state === 'undeploying' ? 'taking down failed' : 'deployment failed'} />{' '}
        <span className="muted">{reasonText(halted)}</span>
      </>
    );
  const reason = deployments.find(({ chain_id }) => chain_id === chainId)?.reason;
  return (
    <>
      <StatusBadge state={state} label={STATE_WORDS[state]} />{' '}
      {(state === 'degraded' || state === 'failed') && reason && <span className="muted">{reasonText(reason)}</span>}
    </>
  );
}
