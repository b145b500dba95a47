import type { Instance, Plan, Reason } from '@orrery/contract';
import { useMemo } from 'react';
import { driverText } from '../../shared/format/form.js';
import { loadText, placeText } from './instance-text.js';
import classes from './placement.module.css';
import { ReasonList } from './reasons-view.js';

interface InstanceReasonsProps {
  readonly plan: Plan;
  readonly instance: Instance | undefined;
  /** Selected permanently, not just hovered. */
  readonly fixed: boolean;
}

/** Why an instance is placed where it is. */
export function InstanceReasons({ plan, instance, fixed }: InstanceReasonsProps) {
  const reasons = useMemo(() => (instance ? reasonsOf(plan, instance) : []), [plan, instance]);
  return (
    <aside className={classes.why} aria-label="Why here" aria-live="polite" data-shown={instance ? true : undefined}>
      {instance ? (
        <>
          <h2>
            {instance.id}
            <span className="muted"> on {placeText(instance)}</span>
          </h2>
          <p className={classes.facts}>
            {loadText(instance)}
            {!instance.board && `, as ${driverText(instance.driver)}`}
            {instance.board && `, ${instance.board.load} load, frames during the load: ${instance.board.policy}`}
            {fixed && '. Press it again to deselect.'}
          </p>
          {reasons.length > 0 ? <ReasonList reasons={reasons} /> : <p className="muted">The plan gives no reason.</p>}
        </>
      ) : (
        <p className="muted">Point at an NF or select it to see why it is placed there, and the alternatives.</p>
      )}
    </aside>
  );
}

function reasonsOf(plan: Plan, instance: Instance): Reason[] {
  const order = ['placement', 'sizing', 'offload'];
  return plan.reasons
    .filter(({ subject }) => subject === instance.id || subject === instance.pgraph_node)
    .sort((a, b) => order.indexOf(a.part) - order.indexOf(b.part));
}
