import type { Plan, SwitchNode } from '@orrery/contract';
import { useChainTitle } from '../../../shared/api/chains.js';
import { useDeployments, usePlan } from '../../../shared/api/queries.js';
import { PlanDialog } from '../../../shared/chain/plan-dialog.js';
import { planOptionsOf } from '../../../shared/chain/plan-options.js';
import { countText } from '../../../shared/format/number.js';
import { deployQuestion } from '../../../shared/plan/deploy-question.js';
import { DRIVER_TITLES } from '../../../shared/switches/switch-text.js';
import classes from './driver-choice.module.css';

/** A driver that a switch is to run, and what it is called to ask for it. */
export interface DriverRequest {
  readonly driver: SwitchNode['driver'];
  readonly isUndo: boolean;
}

interface DriverDialogProps {
  readonly id: string;
  readonly title: string;
  readonly request: DriverRequest;
  readonly onClose: () => void;
}

/** Plans what runs with another driver of a switch, shows what that changes, and does it on consent. */
export default function DriverDialog({ id, title, request: { driver, isUndo }, onClose }: DriverDialogProps) {
  const deployments = useDeployments();
  const inForce = deployments.data?.[0]?.plan_id;
  const { data: base } = usePlan(inForce);
  const isKnown = deployments.data !== undefined && (inForce === undefined || base !== undefined);
  const to = DRIVER_TITLES[driver];
  return (
    <PlanDialog
      title={isUndo ? `Undo: change ${title} back to ${to}` : `Change ${title} to ${to}`}
      confirm={isUndo ? 'Undo' : `Change to ${to}`}
      request={isKnown ? { switch_drivers: [{ switch: id, driver }], ...(base ? planOptionsOf(base, {}) : {}) } : null}
      details={(plan) => <DriverEffect plan={plan} id={id} title={title} />}
      onClose={onClose}
    />
  );
}

interface DriverEffectProps {
  readonly plan: Plan;
  readonly id: string;
  readonly title: string;
}

/** What a switch holds before and then, and which chains lose packets meanwhile. */
function DriverEffect({ plan, id, title }: DriverEffectProps) {
  const titleOf = useChainTitle();
  const table = plan.tables.find((one) => one.switch === id);
  const change = plan.steps.find(({ kind, subject }) => kind === 'change-driver' && subject === id);
  const others = plan.steps.filter((step) => step !== change);
  const question = deployQuestion({ ...plan, steps: others }, titleOf);
  const interrupted = change?.interrupts.map((chain) => titleOf(chain)) ?? [];
  return (
    <>
      {table && (
        <p>
          Entries in its table: {countText(table.entries_before ?? table.entries)} → {countText(table.entries)} of{' '}
          {countText(table.available)}
          {table.most_entries > Math.max(table.entries, table.entries_before ?? 0) &&
            `, up to ${countText(table.most_entries)} meanwhile`}
          .
        </p>
      )}
      {change && (
        <p className={classes.warning} role="status">
          {title} carries nothing until it runs the new driver, in a few seconds.{' '}
          {interrupted.length === 0
            ? 'No chain loses packets: none crosses it.'
            : `Meanwhile ${interrupted.length === 1 ? 'this chain loses' : 'these chains lose'} packets: ${interrupted.join(', ')}.`}{' '}
          If it does not come up in time, it gets its former driver back.
        </p>
      )}
      {question && (
        <p className={classes.warning} role="status">
          {question.message}
        </p>
      )}
    </>
  );
}
