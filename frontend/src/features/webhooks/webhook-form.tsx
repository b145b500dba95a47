import { Button } from '@mantine/core';
import type { Webhook, WebhookRequest, WebhookSecret } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone } from '../../shared/ui/notify.js';
import { NEW_WEBHOOK, WIDGETS, webhookFields } from './webhook-fields.js';
import classes from './webhooks.module.css';

interface WebhookFormProps {
  /** Null: a new one. */
  readonly webhook: Webhook | null;
  /** Called with the secret of a new one. */
  readonly onSecret: (secret: WebhookSecret) => void;
  readonly onClose: () => void;
}

const valuesOf = ({ title, url, least_severity, types, enabled }: Webhook): Values => ({
  title,
  url,
  least_severity,
  types,
  enabled,
});

/** Where events are sent, and which. */
export function WebhookForm({ webhook, onSecret, onClose }: WebhookFormProps) {
  const queries = useQueryClient();
  const form = useSchemaForm<WebhookSecret | null>({
    fieldsOf: webhookFields,
    initial: webhook ? valuesOf(webhook) : NEW_WEBHOOK,
    widgets: WIDGETS,
    send: async (values) => {
      const body = { ...values, title: String(values.title).trim() } as WebhookRequest;
      if (!webhook) return call('createWebhook', { body }, { idempotencyKey: crypto.randomUUID() });
      await call('putWebhook', { params: { id: webhook.id }, body }, { ifMatch: `"${webhook.revision}"` });
      return null;
    },
    onSent: (secret) => {
      void queries.invalidateQueries({ queryKey: ['webhooks'] });
      onClose();
      if (secret) onSecret(secret);
      else notifyDone('The webhook was changed.');
    },
  });
  return (
    <FormDialog
      size={560}
      title={webhook ? `Webhook ${webhook.title}` : 'New webhook'}
      onClose={onClose}
      onSubmit={form.submit}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          {webhook ? 'Save' : 'Add'}
        </Button>
      }
    >
      <div className={classes.fields}>
        <SchemaFields {...form.bound} />
      </div>
    </FormDialog>
  );
}
