import type { Plan } from '@orrery/contract';
import { useChainTitle } from '../api/chains.js';
import { deployQuestion } from '../plan/deploy-question.js';
import { PlanDialog } from './plan-dialog.js';
import { planOptionsOf } from './plan-options.js';
import { RunEffect } from './run-effect.js';
import type { RunRequest } from './run-options.js';
import classes from './switch-run.module.css';

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
            <RunEffect plan={plan} base={base} chainId={chainId} />
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
