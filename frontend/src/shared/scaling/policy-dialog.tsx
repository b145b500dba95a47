import { Button } from '@mantine/core';
import { type NfRef, ScalingLimits, type ScalingPolicy, ScalingPolicyRequest } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { call } from '../api/client.js';
import type { FormField, NumberField } from '../form/field-model.js';
import type { Values } from '../form/field-values.js';
import { SchemaFields } from '../form/schema-fields.js';
import { useSchemaForm } from '../form/use-schema-form.js';
import { wordedFields } from '../form/worded-fields.js';
import { ConfirmButton } from '../ui/confirm-button.js';
import { FormDialog } from '../ui/form-dialog.js';
import { FormTrouble } from '../ui/form-trouble.js';
import { notifyDone, notifyError } from '../ui/notify.js';

const LIMITS = wordedFields(ScalingLimits, {
  utilization: {},
  queue: {},
  delay_us: { description: '99th percentile in an instance. Empty: does not count.' },
  for_s: {},
});
/** Labels of the fields; limits and defaults come from the contract. */
const TEXTS: Readonly<Record<string, Partial<FormField>>> = {
  enabled: { title: 'Enabled', description: '' },
  min_instances: { title: 'Fewest instances', description: '' },
  max_instances: { title: 'Most instances', description: '' },
  out: { title: 'Scale out', description: 'While an instance is beyond one of these.', fields: LIMITS },
  in: {
    title: 'Scale in',
    description: 'While every instance is below all of these. A queue of exactly its limit counts as below.',
    fields: LIMITS,
  },
  cooldown_s: { title: 'Cool-down between two changes (s)', description: '' },
  strategy: {
    title: 'Flows in progress',
    description: '',
    options: [
      { value: 'avoid', title: 'Stay at their instances, kept by engines' },
      { value: 'migrate', title: 'Move with their state' },
      { value: 'never', title: 'Stay at their instances, by an entry of the switch each' },
    ],
  },
};
const FIELDS = wordedFields(ScalingPolicyRequest, TEXTS);
const INSTANCES = ['min_instances', 'max_instances'];

/** Of an NF that may have so many instances. */
function fieldsFor(most: number): FormField[] {
  return FIELDS.map((field) =>
    INSTANCES.includes(field.key) ? { ...(field as NumberField), max: most, description: `From 1 to ${most}.` } : field,
  );
}

interface PolicyDialogProps {
  readonly nf: NfRef;
  /** Null: a new one. */
  readonly policy: ScalingPolicy | null;
  /** How many instances the NF may have. */
  readonly most: number;
  readonly onClose: () => void;
}

function valuesOf(nf: NfRef, policy: ScalingPolicy | null, most: number): Values {
  const { nf: _, ...values } = ScalingPolicyRequest.parse(policy ? requestOf(policy) : { nf });
  return policy ? values : { ...values, max_instances: Math.min(values.max_instances, most) };
}

function requestOf({
  id: _id,
  revision: _revision,
  state: _state,
  unjudged: _why,
  refusal: _refusal,
  ...request
}: ScalingPolicy) {
  return request;
}

/** What the schema refuses beyond single fields. */
function check(nf: NfRef, values: Values): Readonly<Record<string, string>> {
  const { error } = ScalingPolicyRequest.safeParse({ ...values, nf });
  const beyond = (error?.issues ?? []).filter(({ code }) => code === 'custom');
  return Object.fromEntries(beyond.map(({ path, message }) => [`/${path.join('/')}`, message]));
}

/** When the number of instances of an NF follows its load, and how far. */
export default function PolicyDialog({ nf, policy: known, most, onClose }: PolicyDialogProps) {
  // As it was when the dialog was opened: what somebody else changed meanwhile is not overwritten, but told.
  const [policy] = useState(known);
  const fields = useMemo(() => fieldsFor(most), [most]);
  const queries = useQueryClient();
  const settled = () => queries.invalidateQueries({ queryKey: ['scaling-policies'] });
  const form = useSchemaForm({
    fieldsOf: () => fields,
    initial: valuesOf(nf, policy, most),
    check: (values) => check(nf, values),
    send: (values) => {
      const body = { ...values, nf } as ScalingPolicyRequest;
      return policy
        ? call('putScalingPolicy', { params: { id: policy.id }, body }, { ifMatch: `"${policy.revision}"` })
        : call('createScalingPolicy', { body }, { idempotencyKey: crypto.randomUUID() });
    },
    onSent: () => {
      void settled();
      notifyDone(policy ? 'The policy was changed.' : 'The policy was added.');
      onClose();
    },
  });
  const remove = useMutation({
    mutationFn: () => call('deleteScalingPolicy', { params: { id: policy!.id } }, { ifMatch: `"${policy!.revision}"` }),
    onSuccess: onClose,
    onError: (error) => notifyError('The policy was not deleted', error),
    onSettled: settled,
  });
  return (
    <FormDialog
      size={640}
      title={`Scaling policy of ${nf.node_id}`}
      onClose={onClose}
      onSubmit={form.submit}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <>
          {policy && (
            <ConfirmButton
              loading={remove.isPending}
              message={`The number of instances of ${nf.node_id} no longer follows the load. The instances that run stay.`}
              confirmLabel="Delete"
              onConfirm={() => remove.mutate()}
            >
              Delete
            </ConfirmButton>
          )}
          <Button type="submit" loading={form.isPending}>
            {policy ? 'Save' : 'Add'}
          </Button>
        </>
      }
    >
      <SchemaFields {...form.bound} />
    </FormDialog>
  );
}
