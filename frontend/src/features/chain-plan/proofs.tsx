import { Tooltip } from '@mantine/core';
import { IconCircleCheck, IconCircleDashed } from '@tabler/icons-react';
import { amount, gapText, qualityText, sentence } from '../../shared/plan/plan-text.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import classes from './plan.module.css';
import type { Proven } from './quality.js';

/** The quality of one part of the plan in a word, with its proof when pointed at. */
export function PartQuality({ name, proven }: { readonly name: string; readonly proven: readonly Proven[] }) {
  const answers = proven.map(({ answer }) => answer);
  if (answers.length === 0) return null;
  const optimal = answers.every((answer) => answer.optimal);
  const worst = answers.reduce((most, answer) => (answer.gap > most.gap ? answer : most), answers[0]!);
  const Icon = optimal ? IconCircleCheck : IconCircleDashed;
  const count = answers.length === 1 ? '' : `The widest gap of ${answers.length} answers. `;
  const proof = `${count}${sentence(`${worst.objective}: ${amount(worst.value, worst.unit)}, bound ${amount(worst.bound, worst.unit)}`)} Found by ${worst.method}; ${worst.proof}.`;
  return (
    <Tooltip label={proof} multiline w={320} px="sm" py={6} events={{ hover: true, focus: true, touch: true }}>
      <button type="button" className={classes.quality} data-optimal={optimal || undefined} aria-description={proof}>
        <Icon size={14} aria-hidden />
        <span className="muted">{name}</span>
        <span>{qualityText(answers)}</span>
      </button>
    </Tooltip>
  );
}

const COLUMNS: readonly Column<Proven>[] = [
  { id: 'part', title: 'Part', value: ({ answer }) => answer.part },
  {
    id: 'subject',
    title: 'Subject',
    value: ({ answer }) => answer.subject,
    cell: ({ answer }) => <code>{answer.subject}</code>,
  },
  { id: 'objective', title: 'Minimizes', value: ({ answer }) => answer.objective },
  {
    id: 'value',
    title: 'Value',
    number: true,
    value: ({ answer }) => answer.value,
    cell: ({ answer }) => amount(answer.value, answer.unit),
  },
  {
    id: 'bound',
    title: 'Bound',
    number: true,
    value: ({ answer }) => answer.bound,
    cell: ({ answer, before }) => (
      <>
        {amount(answer.bound, answer.unit)}
        {before && <div className="muted">was {amount(before.bound, before.unit)}</div>}
      </>
    ),
  },
  {
    id: 'gap',
    title: 'Gap',
    number: true,
    value: ({ answer }) => answer.gap,
    cell: ({ answer, before }) => (
      <>
        {answer.optimal ? 'none' : gapText(answer.gap)}
        {before && before.gap !== answer.gap && <div className="muted">was {gapText(before.gap)}</div>}
      </>
    ),
  },
  { id: 'method', title: 'Method', value: ({ answer }) => answer.method },
  { id: 'proof', title: 'Proof', className: classes.words, value: ({ answer }) => answer.proof },
];

export function ProofTable({ proven }: { readonly proven: readonly Proven[] }) {
  return (
    <DataTable
      label="Proofs"
      columns={COLUMNS}
      rows={proven}
      rowKey={({ answer }) => `${answer.part} ${answer.subject} ${answer.objective}`}
      dataOf={({ before }) => ({ 'data-selected': before !== null || undefined })}
    />
  );
}
