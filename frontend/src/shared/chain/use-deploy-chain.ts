import type { Plan } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useChainTitle } from '../api/chains.js';
import { call } from '../api/client.js';
import { deployQuestion } from '../plan/deploy-question.js';
import type { Question } from '../ui/confirm-dialog.js';
import { notifyError } from '../ui/notify.js';
import { CHANGED_BY_DEPLOYING, isOvertaken, useChainActions } from './use-chain-actions.js';

/** Attempts while other changes are accepted between a plan and its deployment. */
const MOST_PLANS = 3;

/**
 * Deploys a chain as it is saved. A plan that moves what runs or interrupts other chains is put to `ask` first, and that
 * very plan is deployed on consent. On failure the user is notified.
 */
export function useDeployChain(ask: (question: Question) => void): (chainId: string) => Promise<void> {
  const { deploy } = useChainActions();
  const queries = useQueryClient();
  const titleOf = useChainTitle();
  return useCallback(
    async (chainId: string) => {
      const plan = async (): Promise<void> => {
        try {
          for (let attempt = 1; ; attempt++) {
            const body = { chains: [{ chain_id: chainId }] };
            const made = await call('createPlan', { body }, { idempotencyKey: crypto.randomUUID() });
            const asked = made.feasible ? deployQuestion(made, titleOf) : null;
            if (asked) return ask({ ...asked, run: () => void deploy({ plan_id: made.id }, () => void plan()) });
            if (await accepted(made, attempt === MOST_PLANS)) return;
          }
        } catch (error) {
          notifyError(
            'Not deployed',
            error,
            isOvertaken(error) ? { label: 'Plan again', run: () => void plan() } : undefined,
          );
        } finally {
          for (const key of CHANGED_BY_DEPLOYING) void queries.invalidateQueries({ queryKey: [key] });
        }
      };
      await plan();
    },
    [ask, deploy, queries, titleOf],
  );
}

/** `false`: something else was accepted since the plan was made, so it has to be made again. */
async function accepted({ id }: Plan, isLast: boolean): Promise<boolean> {
  try {
    await call('createDeployment', { body: { plan_id: id } }, { idempotencyKey: crypto.randomUUID() });
    return true;
  } catch (error) {
    if (!isOvertaken(error) || isLast) throw error;
    return false;
  }
}
