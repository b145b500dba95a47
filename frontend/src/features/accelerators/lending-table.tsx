import { Button, Switch } from '@mantine/core';
import type { LendingGroup, LendingGroupRequest } from '@orrery/contract';
import { IconArrowsExchange } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useAccelerators, useOutOfService } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { quantityText } from '../../shared/format/quantity.js';
import { durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { notifyError } from '../../shared/ui/notify.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { groupState, type LendingParts, lentText, strategyText } from './lending-words.js';

/** What the settings of a group are, without what it does now. */
export function requestOf(group: LendingGroup): LendingGroupRequest {
  const { id: _i, revision: _r, state: _s, accelerators_now: _a, members: _m, fairness: _f, ...rest } = group;
  const { switch_ms: _w, switches: _n, overhead: _o, turns_dropped: _d, ...fields } = rest;
  return fields;
}

const columnsOf = (may: boolean, parts: LendingParts): readonly Column<LendingGroup>[] => [
  {
    id: 'group',
    title: 'Group',
    className: classes.policyCell,
    value: ({ title }) => title,
    cell: ({ title }) => <strong>{title}</strong>,
    control: true,
  },
  {
    id: 'state',
    title: 'State',
    value: (group) => groupState(group, parts).label,
    cell: (group) => <StatusBadge state={group.state} {...groupState(group, parts)} />,
  },
  {
    id: 'lent',
    title: 'Accelerators',
    value: ({ accelerators_now }) => accelerators_now.map((each) => lentText(each, parts)).join(', '),
    cell: ({ accelerators_now }) =>
      accelerators_now.map((each) => (
        <div key={each.accelerator}>
          <LastKnown>{lentText(each, parts)}</LastKnown> <EmulatedMark origin={each.origin} />
        </div>
      )),
  },
  { id: 'vnfs', title: 'VNFs', number: true, value: ({ members }) => members.length },
  {
    id: 'settings',
    title: 'Lent',
    value: ({ strategy }) => strategyText(strategy),
    cell: ({ strategy, slice_s, th_up, th_low, usage, max_bps }) => (
      <>
        {strategyText(strategy)}, {durationText(slice_s * 1000)} each
        <span className={classes.small}>
          ↑ {quantityText('share', th_up)}, ↓ {quantityText('share', th_low)} of{' '}
          {usage === 'cpu' ? 'the CPU limit' : quantityText('bps', max_bps)}
        </span>
      </>
    ),
  },
  {
    id: 'fairness',
    title: 'Fairness',
    hint: 'Jain’s index of the accelerator time of those that wanted one: 1 if all had the same',
    number: true,
    value: ({ fairness }) => fairness,
    cell: ({ fairness }) => <LastKnown word="">{fairness?.toFixed(3) ?? '–'}</LastKnown>,
  },
  {
    id: 'overhead',
    title: 'Hand-over',
    hint: 'Median time of the last hand-overs Tsw, how many, and Tsw / (Tsw + T) with the slice T',
    number: true,
    value: ({ overhead }) => overhead,
    cell: ({ overhead, switch_ms, switches }) =>
      overhead === null ? (
        '–'
      ) : (
        <LastKnown word="">
          {quantityText('ms', switch_ms)}
          <span className={classes.small}>
            n = {switches}, {(overhead * 100).toFixed(2)} % of the time
          </span>
        </LastKnown>
      ),
  },
  {
    id: 'enabled',
    title: 'Enabled',
    value: ({ enabled }) => (enabled ? 'yes' : 'no'),
    cell: (group) => <EnabledSwitch group={group} may={may} />,
  },
];

interface LendingTableProps {
  readonly groups: readonly LendingGroup[];
  readonly selectedId: string | null;
  readonly onSelect: (id: string) => void;
  readonly onEdit: (group: LendingGroup) => void;
}

/** Groups of VNFs that take turns at accelerators, with who holds what now. */
export function LendingTable({ groups, selectedId, onSelect, onEdit }: LendingTableProps) {
  const may = useMay('operator');
  const actions: Column<LendingGroup> = {
    id: 'actions',
    title: 'Actions',
    untitled: true,
    className: classes.actions,
    cell: (group) => <Actions group={group} onEdit={onEdit} />,
  };
  const { data: boards = [] } = useAccelerators();
  const { data: out = [] } = useOutOfService();
  const columns = columnsOf(may, { boards, out });
  return (
    <DataTable
      label="Lending groups"
      cards={860}
      columns={may ? [...columns, actions] : columns}
      rows={groups}
      rowKey={({ id }) => id}
      selectedKey={selectedId}
      onSelect={({ id }) => onSelect(id)}
      empty={
        <EmptyState icon={IconArrowsExchange} title="No accelerator is lent">
          A lending group lets VNFs such as encrypted tunnels take turns at the crypto instructions of their servers and
          at slots of boards, by their load.
        </EmptyState>
      }
    />
  );
}

function EnabledSwitch({ group, may }: { readonly group: LendingGroup; readonly may: boolean }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      call(
        'putLendingGroup',
        { params: { id: group.id }, body: { ...requestOf(group), enabled } },
        { ifMatch: `"${group.revision}"` },
      ),
    onError: (error) => notifyError('The lending group was not changed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['lending-groups'] }),
  });
  if (!may) return <>{group.enabled ? 'yes' : 'no'}</>;
  return (
    <Switch
      size="xs"
      aria-label={`${group.title} enabled`}
      checked={change.isPending ? change.variables : group.enabled}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
    />
  );
}

function Actions({ group, onEdit }: { readonly group: LendingGroup; readonly onEdit: (group: LendingGroup) => void }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => call('deleteLendingGroup', { params: { id: group.id } }, { ifMatch: `"${group.revision}"` }),
    onError: (error) => notifyError('The lending group was not deleted', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['lending-groups'] }),
  });
  return (
    <span>
      <Button variant="default" size="compact-xs" aria-label={`Edit ${group.title}`} onClick={() => onEdit(group)}>
        Edit
      </Button>
      <ConfirmButton
        size="compact-xs"
        loading={remove.isPending}
        aria-label={`Delete ${group.title}`}
        message={`${group.title} lends nothing any more. Holders go back to software.`}
        confirmLabel="Delete"
        onConfirm={() => remove.mutate()}
      >
        Delete
      </ConfirmButton>
    </span>
  );
}
