import { Button } from '@mantine/core';
import { type MeasuredRequest, type ServicePool, ServiceRequestSpec } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { wordedFields } from '../../shared/form/worded-fields.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';

const FIELDS = wordedFields(ServiceRequestSpec, {
  pool: { title: 'Pool' },
  from: { title: 'From hosts' },
  match: { title: 'Packets' },
  functions: { title: 'Functions, in order' },
  latency_us: { title: 'Latency at most', unit: 'us' },
  throughput_bps: { title: 'Throughput', unit: 'bps' },
});

interface RequestDialogProps {
  readonly pool: ServicePool;
  readonly onClose: () => void;
  readonly onSent: (request: MeasuredRequest) => void;
}

/** One request. */
export default function RequestDialog({ pool: { id, definition }, onClose, onSent }: RequestDialogProps) {
  const queries = useQueryClient();
  const form = useSchemaForm({
    fieldsOf: () => FIELDS,
    initial: {
      pool: id,
      from: definition.hosts.slice(0, 1),
      match: [{ attribute: 'port.dst', op: 'is', value: 80 }],
      functions: definition.nfs.map(({ nf }) => nf),
      latency_us: 1000,
      throughput_bps: 1_000_000,
    },
    send: (values) =>
      call(
        'createServiceRequest',
        { body: values as unknown as ServiceRequestSpec },
        { idempotencyKey: crypto.randomUUID() },
      ),
    onSent,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['service-requests'] });
      void queries.invalidateQueries({ queryKey: ['service-pools'] });
    },
  });
  return (
    <FormDialog
      title="New service request"
      size={560}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          Request
        </Button>
      }
      onSubmit={form.submit}
      onClose={onClose}
    >
      <SchemaFields {...form.bound} />
    </FormDialog>
  );
}
