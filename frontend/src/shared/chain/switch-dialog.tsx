import type { Plan } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { useChainTitle } from '../api/chains.js';
import { call } from '../api/client.js';
import { deployQuestion } from '../plan/deploy-question.js';
import { PlanDialog } from './plan-dialog.js';
import { planOptionsOf } from './plan-options.js';
import { RunEffect } from './run-effect.js';
import { type RunRequest, runOptionsOf } from './run-options.js';
import classes from './switch-run.module.css';

/** A plan that takes longer is not worth the wait: what it is compared with is known without it. */
const TIME_LIMIT_S = 5;

/** The chain as it runs, planned again: predicted by the same calibration of the model as another plan of now. */
function usePlanOfNow(base: Plan, chainId: string): Plan {
  const { data } = useQuery({
    queryKey: ['as-it-runs', base.id, chainId],
    gcTime: 0,
    retry: false,
    queryFn: ({ signal }) => {
      const options = runOptionsOf(base, chainId);
      const version = base.chains.find(({ chain_id }) => chain_id === chainId)?.version;
      const chains = [{ chain_id: chainId, version, ...options }];
      const body = { chains, ...planOptionsOf(base, options), time_limit_s: TIME_LIMIT_S };
      return call('previewPlan', { body }, { signal });
    },
  });
  return data?.feasible ? data : base;
}

interface SwitchDialogProps {
  readonly request: RunRequest;
  readonly chainId: string;
  /** The plan in force. */
  readonly plan: Plan;
  readonly onClose: () => void;
}

/** Plans a chain with another way to run, shows what that changes, and deploys it on consent. */
export default function SwitchDialog({ request, chainId, plan: base, onClose }: SwitchDialogProps) {
  const titleOf = useChainTitle();
  const now = usePlanOfNow(base, chainId);
  return (
    <PlanDialog
      title={request.title}
      confirm={request.confirm}
      request={{
        chains: [{ chain_id: chainId, version: request.version, ...request.options }],
        ...planOptionsOf(base, request.options),
      }}
      details={(plan) => {
        const question = deployQuestion(plan, titleOf);
        return (
          <>
            <RunEffect plan={plan} base={now} chainId={chainId} />
            {question && (
              <p className={classes.warning} role="status">
                {question.message}
              </p>
            )}
          </>
        );
      }}
      onClose={onClose}
    />
  );
}
