import { Button, Tabs } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { IconArrowLeft, IconChevronRight, IconRefresh, IconRocket } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import { useStore } from 'zustand';
import { chainPath } from '../../../shared/api/chains.js';
import { useMay } from '../../../shared/api/session.js';
import { changesOf, PlanChanges } from '../../../shared/plan/plan-changes.js';
import { useCommands } from '../../../shared/ui/commands.js';
import { useDocumentTitle } from '../../../shared/ui/page-header.js';
import { EmptyState, ErrorState, LoadingRows } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { ConflictNotice } from '../editor/conflict-notice.js';
import { useEditor, useEditorContext } from '../editor/context.js';
import { useSaver } from '../editor/saver-context.js';
import { useChainActions } from '../use-chain-actions.js';
import { type PlanAddress, TABS, type Tab, usePlanAddress } from './address.js';
import { CompareView } from './compare-view.js';
import { PlanProblems } from './infeasible-notice.js';
import { Objectives } from './objectives-view.js';
import { OptionBar } from './option-bar.js';
import { OverviewStrip } from './overview-strip.js';
import { ParallelView } from './parallel-view.js';
import { PlacementView } from './placement-view.js';
import classes from './plan.module.css';
import { type Draft, usePlanPreview, useSavedDraft, useStaleness } from './plan-query.js';
import { Reasons } from './reasons-view.js';
import { ScheduleView } from './schedule-view.js';

/** What a deployment of the draft would do, and why: the very object that would be applied. */
export default function PlanPage() {
  const { pipeline } = useEditorContext();
  const title = useEditor((state) => state.definition.title);
  const address = usePlanAddress();
  const mayPlan = useMay('operator');
  const navigate = useNavigate();
  const { draft, revision, failed, again } = useSavedDraft();
  const plan = usePlanPreview(mayPlan ? draft : null, address.options);
  // With other options the plan before stays on the page until the new one is there; it cannot be deployed meanwhile.
  const ready = plan.isPlaceholderData ? undefined : plan.data;
  const stale = useStaleness(ready, revision);
  const back = chainPath(pipeline.id);
  useDocumentTitle(`Plan of ${title}`);
  useCommands([
    { id: 'plan.again', title: 'Plan again', group: 'Plan', keys: 'r', run: again },
    { id: 'plan.editor', title: 'Back to the editor', group: 'Plan', keys: 'e', run: () => void navigate(back) },
  ]);
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <div className={classes.title}>
          <Crumbs title={title} back={back} />
          <span role="status">
            {ready ? (
              <StatusBadge
                state={ready.feasible ? 'ok' : 'failed'}
                label={ready.feasible ? 'feasible' : 'not feasible'}
              />
            ) : (
              mayPlan && !plan.error && !failed && <StatusBadge state="PROCESSING" label="planning" />
            )}
          </span>
        </div>
        <div className={classes.tools}>
          <Button component={Link} to={back} variant="default" leftSection={<IconArrowLeft size={14} aria-hidden />}>
            Editor
          </Button>
          <DeployPlan plan={ready} />
        </div>
      </header>
      <ConflictNotice />
      {mayPlan ? (
        <>
          <OptionBar options={address.options} setOptions={address.setOptions} />
          {stale && (
            <div className={classes.notice} role="status">
              <span>{stale} This plan does not know of it and may be refused when it is deployed.</span>
              <Button variant="default" leftSection={<IconRefresh size={14} aria-hidden />} onClick={again}>
                Plan again
              </Button>
            </div>
          )}
          <div className={classes.content} aria-busy={plan.isPlaceholderData || undefined}>
            {failed ? (
              <ErrorState
                error={new Error('What you changed is not saved yet, so that it cannot be planned.')}
                title="No plan"
                retry={again}
              />
            ) : plan.error ? (
              <ErrorState error={plan.error} title="No plan" retry={() => void plan.refetch()} />
            ) : plan.data && draft ? (
              <PlanView plan={plan.data} draft={draft} address={address} />
            ) : (
              <LoadingRows rows={10} />
            )}
          </div>
        </>
      ) : (
        <EmptyState title="Planning needs the role operator">
          Ask whoever administers this project, or look at <Link to={back}>the chain itself</Link>.
        </EmptyState>
      )}
    </div>
  );
}

function Crumbs({ title, back }: { readonly title: string; readonly back: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const navigated = useLocation().key !== 'default';
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the page appears, not when its options change
  useEffect(() => {
    if (navigated) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <nav aria-label="Breadcrumb" className={classes.crumbs}>
      <Link to="/chains">Chains</Link>
      <IconChevronRight size={12} aria-hidden />
      <Link to={back} className={classes.crumbChain}>
        {title}
      </Link>
      <IconChevronRight size={12} aria-hidden />
      <h1 ref={heading} tabIndex={-1}>
        Plan<span className="sr-only"> of {title}</span>
      </h1>
    </nav>
  );
}

function DeployPlan({ plan }: { readonly plan: Plan | undefined }) {
  const { pipeline } = useEditorContext();
  const mayOperate = useMay('operator');
  const chain = useChainActions();
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const deleted = useStore(useSaver().status).state === 'deleted';
  const unchanged = plan?.feasible === true && plan.steps.length === 0;
  const deploy = async () => {
    if (!plan) return;
    setBusy(true);
    const operation = await chain.deploy({ plan_id: plan.id });
    setBusy(false);
    if (operation) void navigate(`${chainPath(pipeline.id)}?panel=operation`);
  };
  return (
    <Button
      leftSection={<IconRocket size={14} aria-hidden />}
      disabled={!plan?.feasible || !mayOperate || unchanged || deleted}
      title={unchanged ? 'What runs is this plan already.' : undefined}
      loading={busy}
      onClick={() => void deploy()}
    >
      Deploy this plan
    </Button>
  );
}

interface PlanViewProps {
  readonly plan: Plan;
  readonly draft: Draft;
  readonly address: PlanAddress;
}

function PlanView({ plan, draft, address }: PlanViewProps) {
  const { pipeline, infrastructure } = useEditorContext();
  const of = { plan, pipelineId: pipeline.id };
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
      view: <CompareView draft={draft} pipelineId={pipeline.id} address={address} />,
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
                The plan is not feasible, so that there is nothing to show here; what runs stays as it is.
              </EmptyState>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
