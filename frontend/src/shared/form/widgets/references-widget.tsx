import { MultiSelect } from '@mantine/core';
import type { ReferencesField } from '../field-model.js';
import { fieldProblem } from '../field-problems.js';
import { inputProps, type WidgetProps } from '../widget.js';

/** Several of the existing resources. In a strict form the last one needed cannot be removed. */
export function ReferencesWidget(props: WidgetProps<ReferencesField>) {
  const { field, value, form, onChange } = props;
  const chosen = Array.isArray(value) ? value.map(String) : [];
  const options = form.references?.[field.to]?.options ?? [];
  const unknown = chosen.filter((id) => !options.some((option) => option.value === id));
  return (
    <MultiSelect
      {...inputProps(props)}
      searchable
      data={[...options, ...unknown.map((id) => ({ value: id, label: `${id} (unknown)` }))]}
      value={chosen}
      onChange={(next) => {
        if (!form.strict || fieldProblem(field, next) === null) onChange(next);
      }}
    />
  );
}
