import type { Capability } from '@orrery/contract';
import { IconPlugConnected } from '@tabler/icons-react';
import { useCapabilities } from '../../shared/api/queries.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { EmptyState } from '../../shared/ui/states.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './capabilities.module.css';

function stateOf({ available, fallback }: Capability): readonly [state: string, status: Status] {
  if (available) return ['available', 'healthy'];
  return fallback ? ['replaced', 'degraded'] : ['missing', 'failed'];
}

function replacedText(missing: number, replaced: number): string {
  if (missing === 0) return 'None is missing.';
  if (missing === replaced)
    return missing === 1 ? 'The missing one is replaced.' : `Each of the ${missing} missing ones is replaced.`;
  return `${replaced} of the ${missing} missing ones are replaced.`;
}

const COLUMNS: readonly Column<Capability>[] = [
  { id: 'title', title: 'Capability', className: classes.title, value: ({ title }) => title },
  {
    id: 'state',
    title: 'State',
    value: (capability) => stateOf(capability)[0],
    cell: (capability) => {
      const [state, status] = stateOf(capability);
      return <StatusBadge state={state} status={status} />;
    },
  },
  { id: 'where', title: 'Where', className: classes.where, value: ({ where }) => where },
  { id: 'detail', title: 'Found', className: classes.detail, value: ({ detail }) => detail },
  {
    id: 'fallback',
    title: 'Replaced by',
    className: classes.detail,
    value: ({ fallback }) => fallback,
    cell: ({ fallback, available }) => fallback ?? <span className="muted">{available ? '–' : 'nothing'}</span>,
  },
];

export function Component() {
  const query = useCapabilities();
  const settings = useTableAddress();
  // Missing ones first: they matter most.
  const items = [...(query.data ?? [])].sort(
    (a, b) => Number(a.available) - Number(b.available) || a.title.localeCompare(b.title),
  );
  const missing = items.filter(({ available }) => !available);
  const replaced = missing.filter(({ fallback }) => fallback).length;
  return (
    <>
      <PageHeader
        description={
          query.data
            ? `${items.length - missing.length} of ${items.length} are available. ${replacedText(missing.length, replaced)}`
            : 'What this installation can do, and what replaces what is missing.'
        }
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Capabilities"
            query={query}
            settings={settings}
            cards={620}
            columns={COLUMNS}
            rows={items}
            rowKey={({ where, id }) => `${where}/${id}`}
            empty={
              <EmptyState icon={IconPlugConnected} title="Nothing was probed yet">
                The list fills when the server has examined this machine.
              </EmptyState>
            }
          />
        </Panel>
      </PageBody>
    </>
  );
}
