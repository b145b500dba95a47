import { Button } from '@mantine/core';
import type { Scenario, ScenarioParameters, ScenarioRun } from '@orrery/contract';
import { useMemo } from 'react';
import { call } from '../../shared/api/client.js';
import { formFields, type GroupField, groupField } from '../../shared/form/field-model.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';

interface ScenarioFormProps {
  readonly scenario: Scenario;
  readonly onStarted: (run: ScenarioRun) => void;
  readonly onClose: () => void;
}

/** The parameters of a run, as declared by the scenario's schema. */
export function ScenarioForm({ scenario, onStarted, onClose }: ScenarioFormProps) {
  const fields = useMemo(() => [parametersOf(scenario)], [scenario]);
  const form = useSchemaForm({
    fieldsOf: () => fields,
    initial: { parameters: Object.fromEntries(fields[0]!.fields.map((field) => [field.key, field.default])) },
    send: ({ parameters }: Values) =>
      call('startScenario', { params: { id: scenario.id }, body: { parameters: parameters as ScenarioParameters } }),
    onSent: onStarted,
  });
  return (
    <FormDialog
      title={`Run “${scenario.title}”`}
      size={560}
      onSubmit={form.submit}
      onClose={onClose}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          Run
        </Button>
      }
    >
      <SchemaFields {...form.bound} />
    </FormDialog>
  );
}

/** Errors of the server point into the body, which has the parameters in a field. */
function parametersOf({ needs, parameters }: Scenario): GroupField {
  const description = needs.length > 0 ? `Needs ${needs.join(', ')}.` : '';
  const fields = formFields(parameters).map((each) => ({ ...each, required: false }));
  return groupField({ key: 'parameters', title: 'Parameters', description }, fields);
}
