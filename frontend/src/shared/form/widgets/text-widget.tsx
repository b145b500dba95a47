import { Autocomplete, Textarea, TextInput } from '@mantine/core';
import type { TextField } from '../field-model.js';
import { textValue } from '../field-values.js';
import { emptyOf, inputProps, type WidgetProps } from '../widget.js';

export function TextWidget(props: WidgetProps<TextField>) {
  const { field, value, onChange } = props;
  const common = {
    ...inputProps(props),
    value: typeof value === 'string' || typeof value === 'number' ? String(value) : '',
    placeholder: field.placeholder || (field.default === undefined ? '' : String(field.default)),
  };
  const take = (typed: string) => onChange(typed === '' && !field.required ? emptyOf(field) : textValue(field, typed));
  if (field.examples.length > 2)
    return (
      <Autocomplete {...common} size="xs" data={field.examples} filter={({ options }) => options} onChange={take} />
    );
  const Input = field.multiline ? Textarea : TextInput;
  return (
    <Input {...common} onChange={(event: { currentTarget: { value: string } }) => take(event.currentTarget.value)} />
  );
}
