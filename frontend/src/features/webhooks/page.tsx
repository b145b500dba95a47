import { Button } from '@mantine/core';
import type { Webhook, WebhookSecret } from '@orrery/contract';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { listAll } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { EmptyState } from '../../shared/ui/states.js';
import { WEBHOOK_COLUMNS } from './columns.js';
import { SecretDialog } from './secret-dialog.js';
import { WebhookActions } from './webhook-actions.js';
import { WebhookForm } from './webhook-form.js';

/** What was sent changes without an event. */
const REFRESH_MS = 2000;

export function Component() {
  const may = useMay('admin');
  const query = useQuery({
    queryKey: ['webhooks', 'listWebhooks'],
    queryFn: ({ signal }) => listAll('listWebhooks', {}, signal),
    refetchInterval: REFRESH_MS,
    enabled: may,
  });
  const settings = useTableAddress();
  const [editing, setEditing] = useState<Webhook | 'new' | null>(null);
  const [secret, setSecret] = useState<WebhookSecret | null>(null);
  const columns = useMemo((): readonly Column<Webhook>[] => {
    const cell = (webhook: Webhook) => <WebhookActions webhook={webhook} onEdit={setEditing} onSecret={setSecret} />;
    return [...WEBHOOK_COLUMNS, { id: 'actions', title: 'Actions', untitled: true, cell }];
  }, []);
  return (
    <>
      <PageHeader
        description="Events that Orrery sends to other systems, such as a pager or a chat."
        actions={
          <Button leftSection={<IconPlus size={16} />} size="xs" disabled={!may} onClick={() => setEditing('new')}>
            New webhook
          </Button>
        }
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Webhooks"
            query={query}
            settings={settings}
            cards={720}
            columns={columns}
            rows={query.data ?? []}
            rowKey={({ id }) => id}
            empty={
              <EmptyState icon={IconWebhook} title="No webhooks">
                A webhook sends events, such as alerts of objectives, to an address of yours, signed and in order.
              </EmptyState>
            }
          />
        </Panel>
      </PageBody>
      {editing && (
        <WebhookForm
          webhook={editing === 'new' ? null : editing}
          onSecret={setSecret}
          onClose={() => setEditing(null)}
        />
      )}
      {secret && <SecretDialog secret={secret.secret} onClose={() => setSecret(null)} />}
    </>
  );
}
