import { Tabs } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { type ReactNode, useEffect, useRef } from 'react';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { changesOf, PlanChanges } from '../../shared/plan/plan-changes.js';
import { EmptyState } from '../../shared/ui/states.js';
import { type PlanAddress, TABS, type Tab } from './address.js';
import { CompareView } from './compare-view.js';
import { PlanProblems } from './infeasible-notice.js';
import { Objectives } from './objectives-view.js';
import { OverviewStrip } from './overview-strip.js';
import { ParallelView } from './parallel-view.js';
import { PlacementView } from './placement-view.js';
import classes from './plan.module.css';
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
  const list = useRef<HTMLDivElement>(null);
  // Where the tabs are wider than the window, the chosen one is brought into view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when another tab is chosen
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]');
    if (chosen && list.current) list.current.scrollLeft = chosen.offsetLeft - 24;
  }, [address.tab]);
  const inConflict = plan.schedules.some(({ feasible }) => !feasible);
  const views: Record<Tab, { title: string; view: ReactNode; placed: boolean }> = {
    placement: {
      title: 'Placement',
      view: <PlacementView {...of} infrastructure={infrastructure} address={address} />,
      placed: true,
    },
    why: { title: `Why (${plan.reasons.length})`, view: <Reasons {...of} />, placed: false },
    parallel: {
      title: `Parallel form (${plan.parallel.length})`,
      view: <ParallelView {...of} address={address} />,
      placed: true,
    },
    schedule: {
      title: inConflict ? 'Schedule (conflict)' : 'Schedule',
      view: <ScheduleView {...of} address={address} />,
      placed: true,
    },
    objectives: { title: 'Objectives', view: <Objectives {...of} />, placed: true },
    compare: {
      title: 'Compare',
      view: <CompareView draft={draft} chainId={chain.id} address={address} />,
      placed: false,
    },
    changes: { title: `Steps and changes (${changesOf(plan)})`, view: <PlanChanges plan={plan} />, placed: false },
  };
  return (
    <>
      <PlanProblems {...of} />
      {plan.feasible && <OverviewStrip plan={plan} address={address} />}
      <Tabs value={address.tab} onChange={address.setTab} keepMounted={false} classNames={{ list: classes.tabs }}>
        <Tabs.List ref={list} aria-label="Parts of the plan">
          {TABS.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {views[tab].title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TABS.map((tab) => (
          <Tabs.Panel key={tab} value={tab} pt="md">
            {plan.feasible || !views[tab].placed ? (
              views[tab].view
            ) : (
              <EmptyState title="Nothing was placed">
                The plan is not feasible. Running chains are not affected.
              </EmptyState>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
