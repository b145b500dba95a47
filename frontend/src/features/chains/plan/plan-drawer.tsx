import { Button, Drawer, SegmentedControl, Tabs } from '@mantine/core';
import type { Plan, PlanStrategy } from '@orrery/contract';
import { IconRocket } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../shared/api/client.js';
import { useMay } from '../../../shared/api/session.js';
import { EmptyState, ErrorState, LoadingRows } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { useEditorContext } from '../editor/context.js';
import { useSaver } from '../editor/saver-context.js';
import { useChainActions } from '../use-chain-actions.js';
import { PlacementGrid } from './placement-grid.js';
import classes from './plan.module.css';
import { CostFigures, PlanChanges, PlanProblems, Predictions, Reasons } from './plan-parts.js';

const STRATEGIES: { value: PlanStrategy; label: string }[] = [
  { value: 'e2', label: 'E2' },
  { value: 'first-fit', label: 'First fit' },
  { value: 'random', label: 'Random' },
];

/** What a deployment of the draft would do, and why: the very object that would be applied. */
export default function PlanDrawer({ onClose }: { readonly onClose: () => void }) {
  const { pipeline, infrastructure } = useEditorContext();
  const saver = useSaver();
  const [strategy, setStrategy] = useState<PlanStrategy>('e2');
  const [opened] = useState(() => Date.now());
  const plan = useQuery({
    queryKey: ['plans', 'preview', pipeline.id, strategy, opened],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    queryFn: async ({ signal }) => {
      if (!(await saver.flush())) throw new Error('The draft is not saved yet, so that it cannot be planned.');
      const body = { pipelines: [{ pipeline_id: pipeline.id }], remove: [], strategy, seed: 1 };
      return call('createPlan', { body }, { signal, idempotencyKey: crypto.randomUUID() });
    },
  });
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="min(760px, 92vw)"
      title="Plan"
      closeButtonProps={{ 'aria-label': 'Close the plan' }}
      overlayProps={{ backgroundOpacity: 0.2 }}
      classNames={{ body: classes.body, content: classes.content }}
    >
      <div className={classes.bar}>
        <SegmentedControl
          aria-label="Placement strategy"
          value={strategy}
          onChange={(value) => setStrategy(value as PlanStrategy)}
          data={STRATEGIES}
        />
        {plan.data && (
          <StatusBadge
            state={plan.data.feasible ? 'ok' : 'failed'}
            label={plan.data.feasible ? 'feasible' : 'not feasible'}
          />
        )}
        {plan.data && <DeployPlan plan={plan.data} onClose={onClose} />}
      </div>
      {plan.error && <ErrorState error={plan.error} title="No plan" retry={() => void plan.refetch()} />}
      {plan.isPending && <LoadingRows />}
      {plan.data && <PlanView plan={plan.data} servers={infrastructure?.servers ?? []} pipelineId={pipeline.id} />}
    </Drawer>
  );
}

function DeployPlan({ plan, onClose }: { readonly plan: Plan; readonly onClose: () => void }) {
  const mayOperate = useMay('operator');
  const chain = useChainActions();
  const [busy, setBusy] = useState(false);
  const deploy = async () => {
    setBusy(true);
    const operation = await chain.deploy({ plan_id: plan.id });
    setBusy(false);
    if (operation) onClose();
  };
  return (
    <Button
      className={classes.deploy}
      leftSection={<IconRocket size={14} aria-hidden />}
      disabled={!plan.feasible || !mayOperate}
      loading={busy}
      onClick={() => void deploy()}
    >
      Deploy this plan
    </Button>
  );
}

interface PlanViewProps {
  readonly plan: Plan;
  readonly servers: Parameters<typeof PlacementGrid>[0]['servers'];
  readonly pipelineId: string;
}

function PlanView({ plan, servers, pipelineId }: PlanViewProps) {
  const changes =
    plan.diff.added.length + plan.diff.removed.length + plan.diff.moved.length + plan.diff.reconfigured.length;
  return (
    <>
      <PlanProblems plan={plan} />
      {plan.feasible && <CostFigures plan={plan} />}
      <Tabs defaultValue="placement" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="placement">Placement</Tabs.Tab>
          <Tabs.Tab value="reasons">Why ({plan.reasons.length})</Tabs.Tab>
          <Tabs.Tab value="changes">Steps and changes ({changes})</Tabs.Tab>
          <Tabs.Tab value="slos">Objectives ({plan.slos.length})</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="placement" pt="md">
          {plan.feasible ? (
            <PlacementGrid plan={plan} servers={servers} pipelineId={pipelineId} />
          ) : (
            <EmptyState title="Nothing was placed">The plan is not feasible; what runs stays as it is.</EmptyState>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="reasons" pt="md">
          <Reasons plan={plan} pipelineId={pipelineId} />
        </Tabs.Panel>
        <Tabs.Panel value="changes" pt="md">
          <PlanChanges plan={plan} />
        </Tabs.Panel>
        <Tabs.Panel value="slos" pt="md">
          <Predictions plan={plan} pipelineId={pipelineId} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
