import { Button } from '@mantine/core';
import { PoolNf, ServicePoolDefinition } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { wordedFields } from '../../shared/form/worded-fields.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';

const FIELDS = wordedFields(ServicePoolDefinition, {
  name: { title: 'Name' },
  title: { title: 'Title' },
  hosts: { title: 'Hosts' },
  nfs: {
    title: 'NFs, in the order in which requests pass them',
    columns: wordedFields(PoolNf, {
      nf: { title: 'NF' },
      count: { title: 'Instances' },
      rate_bps: { title: 'Rate of each', unit: 'bps' },
      config: { title: 'Configuration' },
    }),
  },
  packet_bytes: { title: 'Mean packet length', unit: 'bytes', description: '' },
  deploys: { title: 'Deploys further instances on boards' },
});

interface PoolDialogProps {
  readonly hosts: readonly string[];
  readonly onClose: () => void;
}

/** Instances for service requests to share. */
export default function PoolDialog({ hosts, onClose }: PoolDialogProps) {
  const queries = useQueryClient();
  const form = useSchemaForm({
    fieldsOf: () => FIELDS,
    initial: {
      name: 'pool',
      title: 'Shared NFs',
      hosts: [...hosts].slice(0, 64),
      nfs: [
        { nf: 'firewall', config: {}, count: 2, rate_bps: 100_000_000 },
        { nf: 'monitor', config: {}, count: 2, rate_bps: 100_000_000 },
      ],
      packet_bytes: 800,
      deploys: true,
    },
    send: (values) =>
      call(
        'createServicePool',
        { body: values as unknown as ServicePoolDefinition },
        { idempotencyKey: crypto.randomUUID() },
      ),
    onSent: onClose,
    onSettled: () => void queries.invalidateQueries({ queryKey: ['service-pools'] }),
  });
  return (
    <FormDialog
      title="New service pool"
      size={620}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          Deploy
        </Button>
      }
      onSubmit={form.submit}
      onClose={onClose}
    >
      <SchemaFields {...form.bound} />
    </FormDialog>
  );
}
