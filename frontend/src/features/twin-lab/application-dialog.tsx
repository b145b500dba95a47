import { Button } from '@mantine/core';
import type {
  Application,
  ApplicationDefinition,
  ApplicationKindInfo,
  Infrastructure,
  PcapInfo,
} from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { call } from '../../shared/api/client.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { countText } from '../../shared/format/number.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { applicationFields, nameProblem, nodesFor, ofKind, startOf, valuesOf } from './application-fields.js';
import classes from './twin-lab.module.css';

interface ApplicationDialogProps {
  readonly kinds: readonly ApplicationKindInfo[];
  /** null: a new one is added. */
  readonly edited: Application | null;
  /** What a new one begins with; absent: the first kind, without a place. */
  readonly start?: { readonly kind: string; readonly node: string; readonly config: Values };
  readonly taken: readonly string[];
  readonly infrastructure: Infrastructure;
  readonly pcaps: readonly PcapInfo[];
  readonly onClose: () => void;
}

/** Adds or changes an application. */
export function ApplicationDialog(props: ApplicationDialogProps) {
  const { kinds, edited, start, taken, infrastructure, pcaps, onClose } = props;
  const first = kinds.find(({ id }) => id === start?.kind) ?? kinds[0]!;
  const queries = useQueryClient();
  const kindOf = ({ kind }: Values) => kinds.find(({ id }) => id === kind)!;
  const form = useSchemaForm({
    fieldsOf: useCallback((values: Values) => applicationFields(kinds, values, edited === null), [kinds, edited]),
    initial: edited ? valuesOf(edited) : startOf(first, start, taken),
    check: nameProblem,
    adjust: (after, before) => (after.kind === before.kind ? after : ofKind(kindOf(after), before, taken)),
    references: (values) => ({
      node: { options: asOptions(nodesFor(kindOf(values), infrastructure)), placeholder: 'Choose' },
      destination: {
        options: asOptions([...infrastructure.hosts, ...infrastructure.servers].map(({ id }) => id)),
        open: true,
        placeholder: 'Node or address',
      },
      capture: {
        options: pcaps.map(({ id, name, packets }) => ({
          value: id,
          label: `${name} (${countText(packets)} packets)`,
        })),
        placeholder: pcaps.length === 0 ? 'Upload one first' : 'Choose',
      },
    }),
    send: (values) => {
      const body = values as ApplicationDefinition;
      return edited
        ? call('putApplication', { params: { id: edited.id }, body }, { ifMatch: `"${edited.revision}"` })
        : call('createApplication', { body }, { idempotencyKey: crypto.randomUUID() });
    },
    onSent: onClose,
    onSettled: () => void queries.invalidateQueries({ queryKey: ['applications'] }),
  });
  return (
    <FormDialog
      title={edited ? `Edit ${edited.id}` : 'Add an application'}
      size={560}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          {edited ? 'Save' : 'Add'}
        </Button>
      }
      onSubmit={form.submit}
      onClose={onClose}
    >
      <div className={classes.applicationFields}>
        <SchemaFields {...form.bound} />
      </div>
    </FormDialog>
  );
}

const asOptions = (ids: readonly string[]) => ids.map((id) => ({ value: id, label: id }));
