import type { Plan, ServerNode } from '@orrery/contract';
import { useMemo } from 'react';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { ArcDiagram } from '../../shared/plan/arc-diagram.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import { cutTraffic } from './cut-traffic.js';
import classes from './placement.module.css';

/** With more servers than this the arcs are indistinguishable. */
const DRAWN_SERVERS = 12;

type Cut = ReturnType<typeof cutTraffic>[number];
interface CutEdge extends Pick<Cut, 'from' | 'to'> {
  readonly edge: Cut['edges'][number];
}

/** The edges whose traffic crosses the switch between servers. */
export function CutPanel({ plan, servers }: { readonly plan: Plan; readonly servers: readonly ServerNode[] }) {
  const cuts = useMemo(() => cutTraffic(plan), [plan]);
  const titleOf = (id: string) => servers.find((server) => server.id === id)?.title ?? id;
  const ends = new Set(cuts.flatMap(({ from, to }) => [from, to]));
  const most = cuts[0]?.rate_bps ?? 0;
  const edges = cuts.reduce((sum, cut) => sum + cut.edges.length, 0);
  const columns: readonly Column<CutEdge>[] = [
    { id: 'from', title: 'From', value: ({ edge }) => edge.from },
    { id: 'to', title: 'To', value: ({ edge }) => edge.to },
    {
      id: 'servers',
      title: 'Servers',
      className: classes.pair,
      value: ({ from, to }) => `${titleOf(from)} → ${titleOf(to)}`,
    },
    quantityColumn({ id: 'rate', title: 'Rate', quantity: 'bps', value: ({ edge }) => edge.rate_bps }),
    { id: 'hop', title: 'Hop', number: true, value: ({ edge }) => edge.hop },
  ];
  if (edges === 0)
    return (
      <Panel title="No edge crosses the switch between servers">
        <p className={classes.plain}>The switch carries only incoming and outgoing traffic.</p>
      </Panel>
    );
  return (
    <Panel title={edges === 1 ? 'One edge crosses the switch' : `${edges} edges cross the switch`} flush>
      {ends.size <= DRAWN_SERVERS && (
        <ArcDiagram
          label={`Traffic between servers: ${cuts.map((cut) => `${titleOf(cut.from)} to ${titleOf(cut.to)} ${quantityText('bps', cut.rate_bps)}`).join(', ')}`}
          nodes={servers.filter(({ id }) => ends.has(id)).map(({ id }) => ({ id, label: titleOf(id) }))}
          arcs={cuts.map((cut) => ({
            id: `${cut.from} ${cut.to}`,
            from: cut.from,
            to: cut.to,
            label: quantityText('bps', cut.rate_bps),
            title: `${titleOf(cut.from)} to ${titleOf(cut.to)}: ${quantityText('bps', cut.rate_bps)} on ${cut.edges.length === 1 ? 'one edge' : `${cut.edges.length} edges`}`,
            width: 1.5 + 4.5 * (cut.rate_bps / most),
          }))}
        />
      )}
      <DataTable
        label="Edges that cross the switch"
        columns={columns}
        rows={cuts.flatMap(({ from, to, edges }) => edges.map((edge) => ({ edge, from, to })))}
        rowKey={({ edge }) => edge.id}
      />
    </Panel>
  );
}
