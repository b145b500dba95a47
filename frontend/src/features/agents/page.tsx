import type { JoinToken } from '@orrery/contract';
import { IconServerBolt } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useNodes, useOutOfService } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useDownLinksText } from '../../shared/links/down-links.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState } from '../../shared/ui/states.js';
import { agentColumns } from './columns.js';
import { DrainDialog } from './drain-dialog.js';
import { TokenDialog } from './token-dialog.js';

export function Component() {
  const query = useNodes();
  const settings = useTableAddress();
  const may = useMay('admin');
  const downLinks = useDownLinksText();
  const [token, setToken] = useState<JoinToken | null>(null);
  const mayDrain = useMay('operator');
  const [drained, setDrained] = useState<string | null>(null);
  const { data: out } = useOutOfService();
  const columns = useMemo(() => {
    const parts = new Map(out?.map((part) => [part.id, part]));
    const partOf = (id: string) => parts.get(id);
    return agentColumns({ may, downLinks, onToken: setToken, partOf, mayDrain, onDrain: setDrained });
  }, [may, downLinks, mayDrain, out]);
  const nodes = query.data ?? [];
  const connected = nodes.filter(({ state }) => state === 'connected').length;
  return (
    <>
      <PageHeader
        description={
          query.data ? (
            <LastKnown word=" Stale.">{`${connected} of ${nodes.length} are connected.`}</LastKnown>
          ) : (
            'The agents of servers and switches, and how they are admitted.'
          )
        }
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Agents"
            query={query}
            settings={settings}
            cards={620}
            columns={columns}
            rows={nodes}
            rowKey={({ id }) => id}
            empty={
              <EmptyState icon={IconServerBolt} title="No agents">
                The infrastructure has no servers and switches yet.
              </EmptyState>
            }
          />
        </Panel>
      </PageBody>
      {drained !== null && <DrainDialog node={drained} onClose={() => setDrained(null)} />}
      {token && <TokenDialog token={token} onClose={() => setToken(null)} />}
    </>
  );
}
