import { Panel } from '../../shared/page/page-header.js';
import { classText, constraintText } from '../../shared/plan/plan-text.js';
import type { PlanAddress } from './address.js';
import { plannedObjectiveText } from './class-objective-text.js';
import classes from './plan.module.css';
import type { ScheduleFormProps } from './schedule-props.js';

/** Why no schedule meets the objectives between classes, and what to change. */
export function InfeasibleSchedule({ plan, schedule, address }: ScheduleFormProps & { readonly address: PlanAddress }) {
  const constrained = schedule.mode === 'constrained';
  return (
    <Panel title="No schedule meets the objectives between classes">
      {schedule.conflicts.map((conflict) => (
        <div key={`${conflict.constraint}${conflict.where}`} className={classes.conflict} role="alert">
          <p>{constraintText(conflict.classes.length > 0 ? { ...conflict, where: 'the classes below' } : conflict)}.</p>
          <dl>
            <ConflictRow name="Classes" items={conflict.classes.map((id) => classText(plan, id))} />
            <ConflictRow name="Share" items={conflict.modules.length > 0 ? [conflict.modules.join(', ')] : []} />
            <ConflictRow
              name="Objectives"
              items={conflict.slos.map((slo) => plannedObjectiveText(plan, schedule.chain_id, slo))}
            />
          </dl>
        </div>
      ))}
      <p className={classes.plain}>
        {constrained
          ? 'Choose a ratio closer to the offered load. Free mode would meet it only by polling empty queues. '
          : 'Choose a ratio closer to the offered load, or split the classes at an earlier NF. '}
        {constrained && (
          <button
            type="button"
            className={classes.linkButton}
            onClick={() => address.setOptions({ ...address.options, scheduling_mode: 'free' })}
          >
            Try free mode
          </button>
        )}
      </p>
    </Panel>
  );
}

function ConflictRow({ name, items }: { readonly name: string; readonly items: readonly string[] }) {
  if (items.length === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {items.map((item) => (
          <div key={item}>{item}</div>
        ))}
      </dd>
    </>
  );
}
