import type { Plan } from '@orrery/contract';
import type { ReactNode } from 'react';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { PageTabs } from '../../shared/page/page-tabs.js';
import { changesOf, PlanChanges } from '../../shared/plan/plan-changes.js';
import { EmptyState } from '../../shared/ui/states.js';
import type { PlanAddress, Tab } from './address.js';
import { CompareView } from './compare-view.js';
import { PlanProblems } from './infeasible-notice.js';
import { Objectives } from './objectives-view.js';
import { OverviewStrip } from './overview-strip.js';
import { ParallelView } from './parallel-view.js';
import { PlacementView } from './placement-view.js';
import type { Draft } from './plan-query.js';
import { Reasons } from './reasons-view.js';
import { ScheduleView } from './schedule-view.js';

interface PlanViewProps {
  readonly plan: Plan;
  readonly draft: Draft;
  readonly address: PlanAddress;
}

export function PlanView({ plan, draft, address }: PlanViewProps) {
  const { chain, infrastructure } = useEditorContext();
  const of = { plan, chainId: chain.id };
  const inConflict = plan.schedules.some(({ feasible }) => !feasible);
  const ofPlaced = (view: ReactNode) =>
    plan.feasible ? (
      view
    ) : (
      <EmptyState title="Nothing was placed">The plan is not feasible. Running chains are not affected.</EmptyState>
    );
  const views: Record<Tab, { title: string; view: ReactNode }> = {
    placement: {
      title: 'Placement',
      view: ofPlaced(<PlacementView {...of} infrastructure={infrastructure} address={address} />),
    },
    why: { title: `Why (${plan.reasons.length})`, view: <Reasons {...of} /> },
    parallel: {
      title: `Parallel form (${plan.parallel.length})`,
      view: ofPlaced(<ParallelView {...of} address={address} />),
    },
    schedule: {
      title: inConflict ? 'Schedule (conflict)' : 'Schedule',
      view: ofPlaced(<ScheduleView {...of} address={address} />),
    },
    objectives: { title: 'Objectives', view: ofPlaced(<Objectives {...of} />) },
    compare: { title: 'Compare', view: <CompareView draft={draft} chainId={chain.id} address={address} /> },
    changes: { title: `Steps and changes (${changesOf(plan)})`, view: <PlanChanges plan={plan} /> },
  };
  return (
    <>
      <PlanProblems {...of} />
      {plan.feasible && <OverviewStrip plan={plan} address={address} />}
      <PageTabs label="Parts of the plan" tabs={views} shown={address.tab} onShow={address.setTab} />
    </>
  );
}
