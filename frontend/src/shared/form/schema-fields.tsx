import { type ComponentType, useContext } from 'react';
import type { FormField } from './field-model.js';
import { fieldProblem } from './field-problems.js';
import { RejectedEntries } from './rejected-entries.js';
import { type FieldInputProps, type FieldsProps, pointerOf, type WidgetProps } from './widget.js';
import { BooleanWidget } from './widgets/boolean-widget.js';
import { ChoiceWidget } from './widgets/choice-widget.js';
import { GroupWidget } from './widgets/group-widget.js';
import { ListWidget } from './widgets/list-widget.js';
import { NumberWidget } from './widgets/number-widget.js';
import { RawWidget } from './widgets/raw-widget.js';
import { ReferenceWidget } from './widgets/reference-widget.js';
import { ReferencesWidget } from './widgets/references-widget.js';
import { RowsWidget } from './widgets/rows-widget.js';
import { TextWidget } from './widgets/text-widget.js';

/** How each kind of field is edited. A kind is one file and one line. */
const WIDGETS: { readonly [K in FormField['kind']]: ComponentType<WidgetProps<Extract<FormField, { kind: K }>>> } = {
  text: TextWidget,
  number: NumberWidget,
  boolean: BooleanWidget,
  choice: ChoiceWidget,
  rows: RowsWidget,
  list: ListWidget,
  group: GroupWidget,
  reference: ReferenceWidget,
  references: ReferencesWidget,
  raw: RawWidget,
};

/** The fields of a schema; every change passes on the whole object. */
export function SchemaFields({ form, fields, values, path, context = '', compact = false }: FieldsProps) {
  const around = useContext(RejectedEntries);
  return (
    <RejectedEntries value={form.onRejected ?? around}>
      {fields.map((field) => (
        <FieldInput
          key={field.key}
          field={field}
          value={values[field.key]}
          path={[...path, field.key]}
          compact={compact}
          label={context ? `${context}, ${field.title}` : field.title}
          form={form}
          onChange={(value) => {
            const { [field.key]: _, ...rest } = values;
            form.onChange([...path, field.key], value === undefined ? rest : { ...values, [field.key]: value });
          }}
        />
      ))}
    </RejectedEntries>
  );
}

function FieldInput(props: FieldInputProps) {
  const { field, value, path, form } = props;
  const Widget = (form.widgets?.[pointerOf(path)] ?? WIDGETS[field.kind]) as ComponentType<WidgetProps<FormField>>;
  // What may be left open is not wrong before the form is sent.
  const open = value === undefined || (form.takesGaps === true && value === '');
  const problem = (open ? null : fieldProblem(field, value)) ?? form.problemAt(path);
  return <Widget {...props} problem={problem} Fields={SchemaFields} FieldInput={FieldInput} />;
}
