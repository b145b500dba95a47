import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { BarTable } from '../../shared/plan/bar-table.js';
import { choiceLabel } from '../../shared/plan/plan-choices.js';
import { classText, cyclesText, expectedPps } from '../../shared/plan/plan-text.js';
import { ClassObjectives } from './class-objectives.js';
import classes from './plan.module.css';
import type { ScheduleFormProps } from './schedule-props.js';
import { SchedulerTrees } from './scheduler-trees.js';

/** Below this share of the expected packets, the difference is more than rounding. */
const CARRIED = 0.995;

export function FeasibleSchedule({ plan, schedule }: ScheduleFormProps) {
  const expected = expectedPps(plan, schedule.chain_id);
  const busy = new Set(schedule.tree.map(({ worker }) => worker)).size;
  return (
    <>
      {schedule.throughput_pps < expected * CARRIED && (
        <p className={classes.warning} role="status">
          This schedule would carry {quantityText('share', schedule.throughput_pps / expected)} of the expected packets
          {schedule.replicated || busy === schedule.workers
            ? ''
            : `: its tasks are on ${busy === 1 ? 'one' : busy} of ${schedule.workers} workers`}
          .
        </p>
      )}
      <Panel
        title={`Scheduler: ${choiceLabel('scheduling', schedule.strategy)}, ${schedule.mode}`}
        actions={
          <span className="muted tabular">
            carries {quantityText('pps', schedule.throughput_pps)} of {quantityText('pps', expected)} expected,{' '}
            {quantityText('share', schedule.idle_share)} idle
          </span>
        }
      >
        <SchedulerTrees
          vertices={schedule.tree}
          everywhere={schedule.replicated ? schedule.workers : null}
          cores={schedule.cores}
        />
      </Panel>
      <Panel title="Tasks">
        <Tasks plan={plan} schedule={schedule} />
      </Panel>
      <ClassObjectives plan={plan} schedule={schedule} />
    </>
  );
}

function Tasks({ plan, schedule }: ScheduleFormProps) {
  const part = (name: string, value: number) => ({ name, value, text: cyclesText(value) });
  return (
    <BarTable
      label="Tasks"
      head="Task"
      rows={schedule.tasks.map((task) => ({
        id: task.id,
        label: (
          <>
            <div>{task.modules.join(', ')}</div>
            <div className="muted">{task.classes.map((id) => classText(plan, id)).join('; ')}</div>
          </>
        ),
        parts: [
          part('Useful', task.useful_cycles_per_second),
          part('Idle', task.idle_cycles_per_second),
          part('Queues', task.overhead_cycles_per_second),
        ],
      }))}
    />
  );
}
