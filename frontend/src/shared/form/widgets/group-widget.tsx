import { Fieldset } from '@mantine/core';
import type { GroupField } from '../field-model.js';
import { asValues } from '../field-values.js';
import classes from '../form.module.css';
import type { WidgetProps } from '../widget.js';

export function GroupWidget({ field, value, path, form, onChange, Fields }: WidgetProps<GroupField>) {
  return (
    <Fieldset legend={field.title} className={`${classes.fieldset} ${classes.group}`} disabled={form.readOnly}>
      {field.description && <p className={`${classes.note} ${classes.wide}`}>{field.description}</p>}
      <Fields
        form={{ ...form, onChange: (_, values) => onChange(values) }}
        fields={field.fields}
        values={asValues(value)}
        path={path}
      />
    </Fieldset>
  );
}
