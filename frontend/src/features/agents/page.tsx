import type { HealingPolicy, JoinToken } from '@orrery/contract';
import { IconServerBolt } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { useNodes, useOutOfService } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useDownLinksText } from '../../shared/links/down-links.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { DrainDialog } from '../../shared/service/drain-dialog.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { notifyError } from '../../shared/ui/notify.js';
import { ReadingButton } from '../../shared/ui/reading-button.js';
import { EmptyState } from '../../shared/ui/states.js';
import { ChainsNotKept } from './chains-not-kept.js';
import { agentColumns } from './columns.js';
import { TokenDialog } from './token-dialog.js';

const HealingForm = lazy(() => import('./healing-form.js'));

export function Component() {
  const query = useNodes();
  const settings = useTableAddress();
  const may = useMay('admin');
  const downLinks = useDownLinksText();
  const [token, setToken] = useState<JoinToken | null>(null);
  const mayDrain = useMay('operator');
  const [drained, setDrained] = useState<string | null>(null);
  const [policy, setPolicy] = useState<HealingPolicy | null>(null);
  const read = useMutation({
    mutationFn: () => call('getHealingPolicy', {}),
    onSuccess: setPolicy,
    onError: (error) => notifyError('The policy of healing could not be read', error),
  });
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
        <ChainsNotKept may={mayDrain} />
        <Panel
          title="Servers and switches"
          actions={
            <ReadingButton isReading={read.isPending} onClick={() => read.mutate()}>
              Healing…
            </ReadingButton>
          }
        >
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
      <Suspense fallback={null}>
        {policy && <HealingForm policy={policy} readOnly={!mayDrain} onClose={() => setPolicy(null)} />}
      </Suspense>
      {token && <TokenDialog token={token} onClose={() => setToken(null)} />}
    </>
  );
}
