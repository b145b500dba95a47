import type { LendingGroup } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import classes from './accelerators.module.css';

type Member = LendingGroup['members'][number];

function modeText({ accelerated, lacks, slot }: Member): string {
  if (lacks) return 'in software: its processor lacks what it needs';
  if (slot) return `in ${slot.board} slot ${slot.slot}`;
  return accelerated === null ? 'not known' : accelerated ? 'accelerated' : 'in software';
}

function shareOfLimit({ cpu_share, cpu_limit }: Member): number | null {
  return cpu_share === null ? null : cpu_share / (cpu_limit ?? 1);
}

const COLUMNS: readonly Column<Member>[] = [
  {
    id: 'vnf',
    title: 'VNF',
    value: ({ instance_id }) => instance_id,
    cell: ({ instance_id, origin }) => (
      <>
        {instance_id} <EmulatedMark origin={origin} />
      </>
    ),
  },
  {
    id: 'mode',
    title: 'Runs',
    value: modeText,
    cell: (member) => (
      <>
        <LastKnown>{modeText(member)}</LastKnown>
        {member.waits_for !== null && <span className={classes.small}>Cannot be moved now: {member.waits_for}</span>}
      </>
    ),
  },
  {
    id: 'usage',
    title: 'Usage',
    hint: 'Share of its maximum that the thresholds are compared with; of an accelerated VNF, what software would use',
    number: true,
    value: ({ usage }) => usage,
    cell: ({ usage }) => <LastKnown word="">{quantityText('share', usage)}</LastKnown>,
  },
  {
    id: 'cpu',
    title: 'CPU',
    hint: 'Share of its CPU limit that it uses, or of a core where it has none',
    number: true,
    value: shareOfLimit,
    cell: (member) => <LastKnown word="">{quantityText('share', shareOfLimit(member))}</LastKnown>,
  },
  {
    id: 'limit',
    title: 'CPU limit',
    hint: 'Most of a core that it may use',
    number: true,
    value: ({ cpu_limit }) => cpu_limit,
    cell: ({ cpu_limit }) => (cpu_limit === null ? 'none' : `${quantityText('share', cpu_limit)} of a core`),
  },
  {
    id: 'bps',
    title: 'Rate',
    number: true,
    value: ({ bps }) => bps,
    cell: ({ bps }) => <LastKnown word="">{quantityText('bps', bps)}</LastKnown>,
  },
  {
    id: 'held',
    title: 'Held',
    number: true,
    value: ({ held_s }) => held_s,
    cell: ({ held_s }) => <LastKnown word="">{durationText(held_s * 1000)}</LastKnown>,
  },
  {
    id: 'waited',
    title: 'Waited',
    hint: 'Overloaded without an accelerator',
    number: true,
    value: ({ waited_s }) => waited_s,
    cell: ({ waited_s }) => <LastKnown word="">{durationText(waited_s * 1000)}</LastKnown>,
  },
];

/** What the thresholds are compared with, and who has had how much. */
export function MemberTable({ members }: { readonly members: readonly Member[] }) {
  return (
    <DataTable label="VNFs of the group" cards={560} columns={COLUMNS} rows={members} rowKey={(it) => it.instance_id} />
  );
}
