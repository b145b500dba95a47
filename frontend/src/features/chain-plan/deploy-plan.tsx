import { Button, Tooltip } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { IconRocket } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useStore } from 'zustand';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { usePlan } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useChainActions } from '../../shared/chain/use-chain-actions.js';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { useSaver } from '../../shared/chain-draft/saver-context.js';
import { deployQuestion } from '../../shared/plan/deploy-question.js';
import { ConfirmDialog, type Question } from '../../shared/ui/confirm-dialog.js';
import { whyNotDeployed } from './why-not-deployed.js';

interface DeployPlanProps {
  readonly plan: Plan | undefined;
  /** Plans with the same options; offered where something else has overtaken the plan. */
  readonly again: () => void;
}

export function DeployPlan({ plan, again }: DeployPlanProps) {
  const { chain } = useEditorContext();
  const mayOperate = useMay('operator');
  const actions = useChainActions();
  const navigate = useNavigate();
  const titleOf = useChainTitle();
  const [busy, setBusy] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  const deleted = useStore(useSaver().status).state === 'deleted';
  const { data: base } = usePlan(plan?.base_plan ?? null);
  const why = whyNotDeployed({ plan, base, mayOperate, deleted });
  const deploy = async () => {
    if (!plan) return;
    setBusy(true);
    const operation = await actions.deploy({ plan_id: plan.id }, again);
    setBusy(false);
    if (operation) void navigate(`${chainPath(chain.id)}?panel=operation`);
  };
  const askOrDeploy = () => {
    const asked = plan ? deployQuestion(plan, titleOf) : null;
    if (asked) setQuestion({ ...asked, run: () => void deploy() });
    else void deploy();
  };
  return (
    <>
      <Tooltip label={why} disabled={why === null}>
        <Button
          leftSection={<IconRocket size={14} aria-hidden />}
          aria-disabled={why !== null || undefined}
          data-disabled={why !== null || undefined}
          title={why ?? undefined}
          loading={busy}
          onClick={() => {
            if (why === null) askOrDeploy();
          }}
        >
          Deploy this plan
        </Button>
      </Tooltip>
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
    </>
  );
}
