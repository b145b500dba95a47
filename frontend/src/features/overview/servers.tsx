import type { NodeStatus } from '@orrery/contract';
import { sampleKey, samplePrefix } from '@orrery/contract/sample-keys';
import { IconServer } from '@tabler/icons-react';
import { useMemo } from 'react';
import { Link } from 'react-router';
import { useNodes } from '../../shared/api/queries.js';
import { useDownLinksText } from '../../shared/links/down-links.js';
import { Panel } from '../../shared/page/page-header.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { liveColumn } from '../../shared/table/live-column.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './overview.module.css';

/** `downLinks` says which links of a node are down. */
const columnsOf = (downLinks: (id: string) => string | null): readonly Column<NodeStatus>[] => [
  {
    id: 'server',
    title: 'Server',
    className: classes.server,
    value: ({ id }) => id,
    cell: ({ id, origin }) => (
      <>
        <Link to={`/topology?node=${encodeURIComponent(id)}`}>{id}</Link> <EmulatedMark origin={origin} />
      </>
    ),
  },
  {
    id: 'agent',
    title: 'Agent',
    value: ({ state }) => state,
    cell: ({ id, state, detail }) => {
      const trouble = downLinks(id) ?? detail;
      return (
        <>
          <StatusBadge state={state} status={trouble && state === 'connected' ? 'degraded' : undefined} />
          {trouble && <div className={classes.trouble}>{trouble}</div>}
        </>
      );
    },
  },
  {
    id: 'engine',
    title: 'Engine',
    value: ({ engine }) => engine,
    cell: ({ engine }) => <StatusBadge state={engine} />,
  },
  {
    id: 'recent',
    title: 'CPU, last 30 s',
    cell: ({ id }) => (
      <Sparkline sampleKey={sampleKey('node', id, 'cpu')} quantity="share" label={`${id}, engine CPU`} />
    ),
  },
  liveColumn({ id: 'cpu', title: 'CPU', quantity: 'share', sampleKey: ({ id }) => sampleKey('node', id, 'cpu') }),
];

export function Servers() {
  const query = useNodes();
  const nodes = (query.data ?? []).filter(({ kind }) => kind === 'server');
  useSeededSamples(nodes.length > 0 ? [samplePrefix('node')] : []);
  const downLinks = useDownLinksText();
  const columns = useMemo(() => columnsOf(downLinks), [downLinks]);
  return (
    <Panel title="Servers">
      <DataTable
        label="Servers"
        query={query}
        cards={480}
        columns={columns}
        rows={nodes}
        rowKey={({ id }) => id}
        empty={
          <EmptyState icon={IconServer} title="No servers">
            Servers are part of the infrastructure; their agents connect by themselves.
          </EmptyState>
        }
      />
    </Panel>
  );
}
