import { Button } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { IconRocket } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useStore } from 'zustand';
import { chainPath } from '../../shared/api/chains.js';
import { useMay } from '../../shared/api/session.js';
import { useChainActions } from '../../shared/chain/use-chain-actions.js';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { useSaver } from '../../shared/chain-draft/saver-context.js';

export function DeployPlan({ plan }: { readonly plan: Plan | undefined }) {
  const { chain } = useEditorContext();
  const mayOperate = useMay('operator');
  const actions = useChainActions();
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const deleted = useStore(useSaver().status).state === 'deleted';
  const unchanged = plan?.feasible === true && plan.steps.length === 0;
  const deploy = async () => {
    if (!plan) return;
    setBusy(true);
    const operation = await actions.deploy({ plan_id: plan.id });
    setBusy(false);
    if (operation) void navigate(`${chainPath(chain.id)}?panel=operation`);
  };
  return (
    <Button
      leftSection={<IconRocket size={14} aria-hidden />}
      disabled={!plan?.feasible || !mayOperate || unchanged || deleted}
      title={unchanged ? 'This plan is already deployed.' : undefined}
      loading={busy}
      onClick={() => void deploy()}
    >
      Deploy this plan
    </Button>
  );
}
