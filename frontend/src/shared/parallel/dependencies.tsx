import type { ParallelForm } from '@orrery/contract';
import { useMemo, useState } from 'react';
import { Panel } from '../page/page-header.js';
import { ArcDiagram } from '../plan/arc-diagram.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import classes from './parallel.module.css';

interface Dependency {
  /** Of its arc; empty: nothing stands between the two, and no arc is drawn. */
  readonly number: string;
  readonly earlier: string;
  readonly later: string;
  readonly sentences: readonly string[];
  /** They can still run in parallel. */
  readonly parallel: boolean;
}

/** Every pair of NFs: first those with something between them, numbered, then the others. */
function pairsOf({ conflicts, nodes }: ParallelForm): Dependency[] {
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
  const others = nodes.flatMap((earlier, i) =>
    nodes.slice(i + 1).flatMap((later) => (byPair.has(`${earlier} ${later}`) ? [] : [{ earlier, later }])),
  );
  return [
    ...byPair.values(),
    ...others.map((pair) => ({ ...pair, number: '', sentences: INDEPENDENT, parallel: true })),
  ];
}

const INDEPENDENT = ['neither changes what the other uses'];

const COLUMNS: readonly Column<Dependency>[] = [
  { id: 'arc', title: 'Arc', number: true, value: ({ number }) => (number === '' ? null : Number(number)) },
  { id: 'pair', title: 'Pair', className: classes.pair, value: ({ earlier, later }) => `${earlier} → ${later}` },
  {
    id: 'why',
    title: 'Why',
    className: classes.words,
    value: ({ sentences }) => sentences.join('; '),
    cell: ({ sentences, number }) =>
      sentences.map((sentence) => (
        <div key={sentence} className={number === '' ? 'muted' : undefined}>
          {sentence}
        </div>
      )),
  },
  {
    id: 'parallel',
    title: 'In parallel',
    value: ({ parallel, number }) => (!parallel ? 'forbidden' : number === '' ? 'allowed' : 'allowed (dashed)'),
  },
];

/** The dependency graph: an arc for each pair that accesses the same field or state, and below every pair with what is between them. */
export function Dependencies({ form }: { readonly form: ParallelForm }) {
  const [pointed, setPointed] = useState<string | null>(null);
  const pairs = useMemo(() => pairsOf(form), [form]);
  const dependencies = pairs.filter(({ number }) => number !== '');
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
        rows={pairs}
        rowKey={({ earlier, later }) => `${earlier} ${later}`}
        onPoint={(row) => setPointed(row?.number || null)}
        dataOf={({ number }) => ({ 'data-selected': (number !== '' && pointed === number) || undefined })}
      />
    </Panel>
  );
}
