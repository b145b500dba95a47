import type { Plan, ScheduleForm } from '@orrery/contract';
import { useMemo } from 'react';
import { useChainTitle } from '../../shared/api/chains.js';
import { runOptionsOf } from '../../shared/chain/run-options.js';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { choiceLabel } from '../../shared/plan/plan-choices.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import type { PlanAddress } from './address.js';
import { FeasibleSchedule } from './feasible-schedule.js';
import { InfeasibleSchedule } from './infeasible-schedule.js';
import { LeftOut, leftOutOf } from './left-out.js';
import { LiveSchedule } from './live-schedule.js';
import { ownFirst } from './own-first.js';
import classes from './plan.module.css';

interface ScheduleProps {
  readonly plan: Plan;
  readonly chainId: string;
  readonly address: PlanAddress;
}

/** Tasks and scheduler of each chain, and the predicted objectives between its traffic classes. */
export function ScheduleView({ plan, chainId, address }: ScheduleProps) {
  const titleOf = useChainTitle();
  const schedules = useMemo(() => ownFirst(plan.schedules, chainId), [plan, chainId]);
  const [first] = schedules;
  const { infrastructure } = useEditorContext();
  const live = <LiveSchedule chainId={chainId} title={titleOf(chainId)} infrastructure={infrastructure} />;
  const leftOut = <LeftOut plan={plan} part="scheduling" chainId={chainId} />;
  if (!first)
    return (
      <div className={classes.groups}>
        {live}
        {leftOutOf(plan, 'scheduling', chainId).length > 0 ? (
          leftOut
        ) : (
          <EmptyState title="Nothing to schedule">No traffic class is expected to carry packets.</EmptyState>
        )}
      </div>
    );
  const chosen = schedules.find((each) => each.chain_id === address.selected('chain')) ?? first;
  return (
    <div className={classes.groups}>
      {live}
      <p className={classes.honest}>
        {isPlanned(plan, chosen.chain_id) ? (
          <>
            <span className={classes.label}>schedule</span> By this plan the cores of the chain serve its tasks as
            shown.
          </>
        ) : (
          <>
            <span className={classes.label}>what-if</span> By this plan the cores of the chain serve its instances in
            turn; this is how the same cores would serve them as scheduled. <i>Serve as scheduled</i> first gathers the
            chain on one core where it can, and shows the plan of that before anything changes.
          </>
        )}
      </p>
      {leftOut}
      {schedules.length > 1 && (
        <Panel title="Chains">
          <DataTable
            label="Schedules"
            columns={scheduleColumns(titleOf)}
            rows={schedules}
            rowKey={({ chain_id }) => chain_id}
            selectedKey={chosen.chain_id}
            onSelect={({ chain_id }) => address.select('chain', chain_id)}
          />
        </Panel>
      )}
      {chosen.feasible ? (
        <FeasibleSchedule plan={plan} schedule={chosen} />
      ) : (
        <InfeasibleSchedule plan={plan} schedule={chosen} address={address} />
      )}
    </div>
  );
}

function isPlanned(plan: Plan, chainId: string): boolean {
  return runOptionsOf(plan, chainId).schedule !== 'round-robin';
}

function scheduleColumns(titleOf: (id: string) => string): readonly Column<ScheduleForm>[] {
  const whenFeasible = (
    id: string,
    title: string,
    value: (form: ScheduleForm) => number,
    text: (value: number) => string = String,
  ): Column<ScheduleForm> => ({
    id,
    title,
    number: true,
    value: (form: ScheduleForm) => (form.feasible ? value(form) : null),
    cell: (form: ScheduleForm) => (form.feasible ? text(value(form)) : '–'),
  });
  return [
    { id: 'chain', title: 'Chain', value: ({ chain_id }) => titleOf(chain_id) },
    {
      id: 'schedule',
      title: 'Schedule',
      value: ({ feasible, strategy }) => (feasible ? choiceLabel('scheduling', strategy) : 'not feasible'),
      cell: ({ feasible, strategy }) => (
        <StatusBadge
          lasting
          state={feasible ? 'ok' : 'failed'}
          label={feasible ? choiceLabel('scheduling', strategy) : 'not feasible'}
        />
      ),
    },
    { id: 'workers', title: 'Workers', number: true, value: ({ workers }) => workers },
    whenFeasible('tasks', 'Tasks', ({ tasks }) => tasks.length),
    whenFeasible(
      'idle',
      'Idle share',
      ({ idle_share }) => idle_share,
      (value) => quantityText('share', value),
    ),
    whenFeasible(
      'throughput',
      'Throughput',
      ({ throughput_pps }) => throughput_pps,
      (value) => quantityText('pps', value),
    ),
  ];
}
