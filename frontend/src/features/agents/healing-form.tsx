import { Button } from '@mantine/core';
import { type HealingPolicy, HealingPolicyRequest } from '@orrery/contract';
import { call } from '../../shared/api/client.js';
import type { FormField } from '../../shared/form/field-model.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import type { WidgetProps } from '../../shared/form/widget.js';
import { wordedFields } from '../../shared/form/worded-fields.js';
import { Choice } from '../../shared/ui/choice.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone } from '../../shared/ui/notify.js';

const FIELDS = wordedFields(HealingPolicyRequest, {
  enabled: { title: 'Enabled', description: 'Without, nothing is moved; what is well again is used again.' },
  grace_s: { title: 'Grace time (s)', description: 'A server that is away for longer is lost.' },
  stable_s: {
    title: 'Stable time (s)',
    description: 'It must be well for so long before it is used again; doubles each time it is lost again.',
  },
  return: { title: 'What left a server goes back', description: '' },
  max_changes: {
    title: 'Changes in 10 minutes, at most',
    description:
      'Beyond them nothing returns or is deployed again; what is lost is healed all the same. Drains do not count.',
  },
});
const fieldsOf = () => FIELDS;

const RETURNS = [
  { value: 'by-origin', label: 'By origin', says: 'By itself to servers of the twin; real ones ask.' },
  { value: 'auto', label: 'By itself', says: 'As soon as there is room.' },
  { value: 'ask', label: 'Ask', says: 'When Return is pressed.' },
  { value: 'never', label: 'Never', says: 'It stays where it is.' },
] as const;

const WIDGETS = {
  '/return': ({ field, value, onChange }: WidgetProps<FormField>) => (
    <Choice label={field.title} choices={RETURNS} value={String(value)} onChange={onChange} />
  ),
};

interface HealingFormProps {
  readonly policy: HealingPolicy;
  readonly readOnly: boolean;
  readonly onClose: () => void;
}

/** What the server does by itself when a server is lost or back. */
export default function HealingForm({ policy, readOnly, onClose }: HealingFormProps) {
  const { revision, ...initial } = policy;
  const form = useSchemaForm({
    fieldsOf,
    initial,
    widgets: WIDGETS,
    readOnly,
    send: (values) => call('putHealingPolicy', { body: values as HealingPolicyRequest }, { ifMatch: `"${revision}"` }),
    onSent: () => {
      notifyDone('Healing was changed.');
      onClose();
    },
  });
  return (
    <FormDialog
      size={560}
      title="Healing"
      onClose={onClose}
      onSubmit={form.submit}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" disabled={readOnly} loading={form.isPending}>
          Save
        </Button>
      }
    >
      <SchemaFields {...form.bound} />
    </FormDialog>
  );
}
