import { Button, Switch } from '@mantine/core';
import type { ReconfigurationPolicy, ReconfigurationPolicyRequest } from '@orrery/contract';
import { IconAdjustmentsBolt } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useChainTitle } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { useMay } from '../../shared/api/session.js';
import { type Quantity, quantityText } from '../../shared/format/quantity.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { EmptyState } from '../../shared/ui/states.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { ChainLink } from './chain-link.js';
import { slotText } from './nfs.js';
import { type Metric, thresholdPlaces } from './policy-draft.js';

interface PolicyTableProps {
  readonly policies: readonly ReconfigurationPolicy[];
  readonly onEdit: (policy: ReconfigurationPolicy) => void;
}

const QUANTITIES: Record<Metric, Quantity> = { bps: 'bps', pps: 'pps', cpu: 'share' };
const STATES: Record<ReconfigurationPolicy['state'], { status: Status; label: string }> = {
  watching: { status: 'healthy', label: 'watching' },
  above: { status: 'degraded', label: 'above its threshold' },
  below: { status: 'idle', label: 'below its threshold' },
  cooling: { status: 'stale', label: 'resting after a move' },
  disabled: { status: 'idle', label: 'switched off' },
  'not-deployed': { status: 'idle', label: 'its chain does not run' },
};

/** When NFs move by themselves, with their load now beside the thresholds. */
export function PolicyTable({ policies, onEdit }: PolicyTableProps) {
  const may = useMay('operator');
  const titleOf = useChainTitle();
  if (policies.length === 0)
    return (
      <EmptyState icon={IconAdjustmentsBolt} title="No policy moves NFs by itself">
        A policy watches the load of an NF: above the upper threshold it moves to a board, below the lower one back to
        software.
      </EmptyState>
    );
  return (
    <table className="table" aria-label="Policies">
      <thead>
        <tr>
          <th scope="col">Policy</th>
          <th scope="col">NF</th>
          <th scope="col">State</th>
          <th scope="col">Load and thresholds</th>
          <th scope="col">Displaces</th>
          <th scope="col">Where and how</th>
          <th scope="col" className="number">
            Priority
          </th>
          <th scope="col">Enabled</th>
          {may && (
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {policies.map((policy) => (
          <tr key={policy.id}>
            <td className={classes.policyCell}>
              <strong>{policy.title}</strong>
            </td>
            <td className={classes.nowrap}>
              {policy.nf.node_id}
              <span className={classes.small}>
                of <ChainLink id={policy.nf.pipeline_id} title={titleOf(policy.nf.pipeline_id)} />
              </span>
            </td>
            <td>
              <StatusBadge state={policy.state} {...STATES[policy.state]} />
            </td>
            <td>
              <ThresholdBar policy={policy} />
            </td>
            <td>
              {policy.displaces.length === 0 ? (
                <span className="muted">nothing</span>
              ) : (
                policy.displaces.map(({ pipeline_id, node_id }) => `${node_id} of ${titleOf(pipeline_id)}`).join(', ')
              )}
            </td>
            <td>
              {policy.slot ? slotText(policy.slot) : 'any slot that fits'}
              <span className={classes.small}>
                {policy.load} load, frames: {policy.policy}; rests {policy.cooldown_s} s
              </span>
            </td>
            <td className="number">{policy.priority}</td>
            <td>
              <EnabledSwitch policy={policy} may={may} />
            </td>
            {may && (
              <td className={classes.actions}>
                <span>
                  <Button
                    variant="default"
                    size="compact-xs"
                    aria-label={`Edit ${policy.title}`}
                    onClick={() => onEdit(policy)}
                  >
                    Edit
                  </Button>
                  <DeletePolicy policy={policy} />
                </span>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ThresholdBar({ policy: { threshold, load_now, title } }: { readonly policy: ReconfigurationPolicy }) {
  const quantity = QUANTITIES[threshold.metric];
  const places = thresholdPlaces(threshold, load_now);
  const told = `${load_now === null ? 'nothing measured' : `${quantityText(quantity, load_now)} now`}, up at ${quantityText(quantity, threshold.up)}, down at ${quantityText(quantity, threshold.down)}`;
  return (
    <div className={classes.threshold}>
      <span className="tabular">{quantityText(quantity, load_now)}</span>
      <span className={classes.thresholdBar} role="img" aria-label={`${title}: ${told}`} title={told}>
        {places.load !== null && (
          <span
            className={classes.thresholdLoad}
            data-above={load_now! > threshold.up || undefined}
            style={{ width: `${places.load * 100}%` }}
          />
        )}
        <span className={classes.thresholdMark} style={{ left: `${places.down * 100}%` }} />
        <span className={classes.thresholdMark} style={{ left: `${places.up * 100}%` }} />
      </span>
      <span className={classes.small}>
        ↑ {quantityText(quantity, threshold.up)}, ↓ {quantityText(quantity, threshold.down)} for {threshold.for_s} s
      </span>
    </div>
  );
}

function requestOf(policy: ReconfigurationPolicy, enabled: boolean): ReconfigurationPolicyRequest {
  const { id: _id, load_now: _load, state: _state, ...fields } = policy;
  return { ...fields, enabled };
}

function EnabledSwitch({ policy, may }: { readonly policy: ReconfigurationPolicy; readonly may: boolean }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      call('putReconfigurationPolicy', { params: { id: policy.id }, body: requestOf(policy, enabled) }),
    onError: (error) => notifyError('The policy was not changed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['reconfiguration-policies'] }),
  });
  if (!may) return <>{policy.enabled ? 'yes' : 'no'}</>;
  return (
    <Switch
      size="xs"
      aria-label={`${policy.title} enabled`}
      checked={change.isPending ? change.variables : policy.enabled}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
    />
  );
}

function DeletePolicy({ policy }: { readonly policy: ReconfigurationPolicy }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => call('deleteReconfigurationPolicy', { params: { id: policy.id } }),
    onError: (error) => notifyError('The policy was not deleted', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['reconfiguration-policies'] }),
  });
  return (
    <ConfirmButton
      size="compact-xs"
      loading={remove.isPending}
      aria-label={`Delete ${policy.title}`}
      message={`${policy.title} no longer moves anything. What runs stays where it is.`}
      confirmLabel="Delete"
      onConfirm={() => remove.mutate()}
    >
      Delete
    </ConfirmButton>
  );
}
