import type { ParallelForm } from '@orrery/contract';
import { useMemo, useState } from 'react';
import { Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { ArcDiagram } from './arc-diagram.js';
import classes from './plan.module.css';

interface Dependency {
  readonly number: string;
  readonly earlier: string;
  readonly later: string;
  readonly sentences: readonly string[];
  /** They can still run in parallel. */
  readonly parallel: boolean;
}

/** Conflicts by the pair that they are between, numbered. */
function dependenciesOf({ conflicts }: ParallelForm): Dependency[] {
  const byPair = new Map<string, Dependency>();
  for (const { earlier, later, sentence, parallel } of conflicts) {
    const key = `${earlier} ${later}`;
    const before = byPair.get(key);
    byPair.set(key, {
      number: before?.number ?? String(byPair.size + 1),
      earlier,
      later,
      sentences: [...(before?.sentences ?? []), sentence],
      parallel: parallel && (before?.parallel ?? true),
    });
  }
  return [...byPair.values()];
}

const COLUMNS: readonly Column<Dependency>[] = [
  { id: 'arc', title: 'Arc', number: true, value: ({ number }) => Number(number) },
  { id: 'pair', title: 'Pair', className: classes.pair, value: ({ earlier, later }) => `${earlier} → ${later}` },
  {
    id: 'why',
    title: 'Why',
    className: classes.words,
    value: ({ sentences }) => sentences.join('; '),
    cell: ({ sentences }) => sentences.map((sentence) => <div key={sentence}>{sentence}</div>),
  },
  {
    id: 'parallel',
    title: 'In parallel',
    value: ({ parallel }) => (parallel ? 'allowed (dashed)' : 'forbidden'),
  },
];

/** The dependency graph: an arc for each pair that accesses the same field or state, with the reasons below. */
export function Dependencies({ form }: { readonly form: ParallelForm }) {
  const [pointed, setPointed] = useState<string | null>(null);
  const dependencies = useMemo(() => dependenciesOf(form), [form]);
  if (dependencies.length === 0)
    return (
      <Panel title="Dependencies">
        <p className={classes.plain}>No two NFs of this chain touch the same field or state.</p>
      </Panel>
    );
  return (
    <Panel title="Dependencies" flush>
      <ArcDiagram
        label={`Dependencies between the NFs of the chain: ${dependencies.map((each) => `${each.earlier} and ${each.later}`).join(', ')}`}
        nodes={form.nodes.map((node) => ({ id: node, label: node }))}
        arcs={dependencies.map(({ number, earlier, later, sentences, parallel }) => ({
          id: number,
          from: earlier,
          to: later,
          label: number,
          title: sentences.join('; '),
          dashed: parallel,
        }))}
        pointed={pointed}
        onPoint={setPointed}
      />
      <DataTable
        label="Dependencies"
        columns={COLUMNS}
        rows={dependencies}
        rowKey={({ number }) => number}
        onPoint={(row) => setPointed(row?.number ?? null)}
        dataOf={({ number }) => ({ 'data-selected': pointed === number || undefined })}
      />
    </Panel>
  );
}
