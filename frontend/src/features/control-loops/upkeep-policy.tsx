import { Button } from '@mantine/core';
import { type UpkeepPolicy, UpkeepPolicyRequest } from '@orrery/contract';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import type { FormField } from '../../shared/form/field-model.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { wordedFields } from '../../shared/form/worded-fields.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import { ReadingButton } from '../../shared/ui/reading-button.js';

/** Labels of the fields; limits and defaults come from the contract. */
const TEXTS: Readonly<Record<string, Pick<FormField, 'title' | 'description'>>> = {
  enabled: { title: 'Enabled', description: 'Otherwise nothing is compared.' },
  mode: {
    title: 'A better placement',
    description: 'never: only drift is told. ask: it is advised on Overview. auto: it is applied, too.',
  },
  min_gain_percent: { title: 'Least gain (% of the traffic between servers)', description: '' },
  min_gain_bps: { title: 'Least gain (bit/s)', description: '' },
  hold_s: { title: 'Better for at least (s)', description: '' },
  look_s: { title: 'Time between two looks (s)', description: '' },
  max_moved: { title: 'Most instances moved at once', description: '' },
  max_changes: { title: 'Most changes an hour', description: '' },
};
const quietHour = (key: string, title: string, description: string) => ({
  key,
  title,
  description,
  required: false,
  nullable: true,
});
const FIELDS = [
  ...wordedFields(UpkeepPolicyRequest.omit({ quiet_hours: true }), TEXTS),
  ...wordedFields(UpkeepPolicyRequest.shape.quiet_hours.unwrap().unwrap(), {
    from: quietHour('quiet_from', 'Quiet from (hour, UTC)', 'Nothing is applied by itself then. Empty: none.'),
    to: quietHour('quiet_to', 'Quiet until (hour, UTC)', 'Without this hour; before the first: over midnight.'),
  }),
];
const fieldsOf = () => FIELDS;

function quietHoursOf({ quiet_from: from, quiet_to: to }: Values): UpkeepPolicyRequest['quiet_hours'] {
  return typeof from === 'number' && typeof to === 'number' ? { from, to } : null;
}

function bothOrNone(values: Values): Record<string, string> {
  const lacking = ['quiet_from', 'quiet_to'].filter((key) => typeof values[key] !== 'number');
  return lacking.length === 1 ? { [`/${lacking[0]}`]: 'must be given with the other hour' } : {};
}

/** Opens the policy of upkeep, as it is then. */
export function UpkeepPolicyButton({ readOnly }: { readonly readOnly: boolean }) {
  const [policy, setPolicy] = useState<UpkeepPolicy | null>(null);
  const read = useMutation({
    mutationFn: () => call('getUpkeepPolicy', {}),
    onSuccess: setPolicy,
    onError: (error) => notifyError('The policy of upkeep could not be read', error),
  });
  return (
    <>
      <ReadingButton isReading={read.isPending} onClick={() => read.mutate()}>
        Upkeep policy…
      </ReadingButton>
      {policy && <PolicyDialog policy={policy} readOnly={readOnly} onClose={() => setPolicy(null)} />}
    </>
  );
}

interface PolicyDialogProps {
  readonly policy: UpkeepPolicy;
  readonly readOnly: boolean;
  readonly onClose: () => void;
}

function PolicyDialog({ policy, readOnly, onClose }: PolicyDialogProps) {
  const { revision, quiet_hours, ...initial } = policy;
  const form = useSchemaForm({
    fieldsOf,
    initial: { ...initial, quiet_from: quiet_hours?.from ?? null, quiet_to: quiet_hours?.to ?? null },
    check: bothOrNone,
    readOnly,
    send: (values) => {
      const { quiet_from: _from, quiet_to: _to, ...rest } = values;
      const body = { ...rest, quiet_hours: quietHoursOf(values) } as UpkeepPolicyRequest;
      return call('putUpkeepPolicy', { body }, { ifMatch: `"${revision}"` });
    },
    onSent: () => {
      notifyDone('The policy was changed.');
      onClose();
    },
  });
  return (
    <FormDialog
      size={560}
      title="Upkeep of placements"
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
