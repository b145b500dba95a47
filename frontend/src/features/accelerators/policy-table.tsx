import type { ReconfigurationPolicy } from '@orrery/contract';
import { IconAdjustmentsBolt } from '@tabler/icons-react';
import { type ChainTitle, useChainTitle } from '../../shared/api/chains.js';
import { useMay } from '../../shared/api/session.js';
import { type Quantity, quantityText } from '../../shared/format/quantity.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmptyState } from '../../shared/ui/states.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { ChainLink } from './chain-link.js';
import { slotText } from './nfs.js';
import { EnabledSwitch, PolicyActions } from './policy-actions.js';
import { type Metric, thresholdPlaces } from './thresholds.js';

interface PolicyTableProps {
  readonly policies: readonly ReconfigurationPolicy[];
  readonly onEdit: (policy: ReconfigurationPolicy) => void;
}

const QUANTITIES: Record<Metric, Quantity> = { bps: 'bps', pps: 'pps', cpu: 'share' };
const STATES: Record<ReconfigurationPolicy['state'], { status: Status; label: string }> = {
  watching: { status: 'healthy', label: 'watching' },
  above: { status: 'degraded', label: 'above its threshold' },
  below: { status: 'idle', label: 'below its threshold' },
  cooling: { status: 'stale', label: 'pausing after a move' },
  disabled: { status: 'idle', label: 'disabled' },
  'not-deployed': { status: 'idle', label: 'chain not deployed' },
};

function columnsOf(titleOf: ChainTitle, may: boolean): readonly Column<ReconfigurationPolicy>[] {
  return [
    {
      id: 'policy',
      title: 'Policy',
      className: classes.policyCell,
      value: ({ title }) => title,
      cell: ({ title }) => <strong>{title}</strong>,
    },
    {
      id: 'nf',
      title: 'NF',
      className: classes.nowrap,
      value: ({ nf }) => nf.node_id,
      cell: ({ nf }) => (
        <>
          {nf.node_id}
          <span className={classes.small}>
            of <ChainLink id={nf.chain_id} title={titleOf(nf.chain_id)} />
          </span>
        </>
      ),
    },
    {
      id: 'state',
      title: 'State',
      value: ({ state }) => STATES[state].label,
      cell: ({ state }) => <StatusBadge state={state} {...STATES[state]} />,
    },
    { id: 'load', title: 'Load and thresholds', cell: (policy) => <ThresholdBar policy={policy} /> },
    {
      id: 'displaces',
      title: 'Displaces',
      value: ({ displaces }) =>
        displaces.map(({ chain_id, node_id }) => `${node_id} of ${titleOf(chain_id)}`).join(', '),
      cell: ({ displaces }) =>
        displaces.length === 0 ? (
          <span className="muted">nothing</span>
        ) : (
          displaces.map(({ chain_id, node_id }) => `${node_id} of ${titleOf(chain_id)}`).join(', ')
        ),
    },
    {
      id: 'slot',
      title: 'Slot and load',
      value: ({ slot }) => (slot ? slotText(slot) : 'any slot that fits'),
      cell: ({ slot, load, policy, cooldown_s }) => (
        <>
          {slot ? slotText(slot) : 'any slot that fits'}
          <span className={classes.small}>
            {load} load, frames: {policy}; pauses {cooldown_s} s
          </span>
        </>
      ),
    },
    { id: 'priority', title: 'Priority', number: true, value: ({ priority }) => priority },
    {
      id: 'enabled',
      title: 'Enabled',
      value: ({ enabled }) => (enabled ? 'yes' : 'no'),
      cell: (policy) => <EnabledSwitch policy={policy} may={may} />,
    },
  ];
}

/** Reconfiguration policies, with the current load next to the thresholds. */
export function PolicyTable({ policies, onEdit }: PolicyTableProps) {
  const may = useMay('operator');
  const titleOf = useChainTitle();
  const actions: Column<ReconfigurationPolicy> = {
    id: 'actions',
    title: 'Actions',
    untitled: true,
    className: classes.actions,
    cell: (policy) => <PolicyActions policy={policy} onEdit={onEdit} />,
  };
  const columns = columnsOf(titleOf, may);
  return (
    <DataTable
      label="Policies"
      columns={may ? [...columns, actions] : columns}
      rows={policies}
      rowKey={({ id }) => id}
      empty={
        <EmptyState icon={IconAdjustmentsBolt} title="No policies">
          A policy watches the load of an NF: above the upper threshold the NF moves to a board, below the lower one
          back to software.
        </EmptyState>
      }
    />
  );
}

function ThresholdBar({ policy: { threshold, load_now, title } }: { readonly policy: ReconfigurationPolicy }) {
  const quantity = QUANTITIES[threshold.metric];
  const places = thresholdPlaces(threshold, load_now);
  const told = `${load_now === null ? 'not measured' : `${quantityText(quantity, load_now)} now`}, up at ${quantityText(quantity, threshold.up)}, down at ${quantityText(quantity, threshold.down)}`;
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
