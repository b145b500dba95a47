import { Autocomplete, Select, TextInput } from '@mantine/core';
import type { ReferenceField } from '../field-model.js';
import { emptyOf, inputProps, type WidgetProps } from '../widget.js';

/** Selected from the existing resources; typed if the list is open or unknown. */
export function ReferenceWidget(props: WidgetProps<ReferenceField>) {
  const { field, form, onChange } = props;
  const choices = form.references?.[field.to];
  const value = typeof props.value === 'string' ? props.value : '';
  const take = (next: string | null) => onChange(next ? next : field.required ? '' : emptyOf(field));
  const common = { ...inputProps(props), placeholder: choices?.placeholder };
  if (!choices) return <TextInput {...common} value={value} onChange={(event) => take(event.currentTarget.value)} />;
  if (choices.open)
    return (
      <Autocomplete
        {...common}
        size="xs"
        data={choices.options.map((option) => option.value)}
        value={value}
        onChange={take}
      />
    );
  const known = choices.options.some((option) => option.value === value);
  return (
    <Select
      {...common}
      searchable={choices.options.length > 8}
      clearable={!field.required}
      allowDeselect={!field.required}
      data={[...choices.options, ...(value && !known ? [{ value, label: `${value} (unknown)` }] : [])]}
      value={value || null}
      onChange={take}
    />
  );
}
