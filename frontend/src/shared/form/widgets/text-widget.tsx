import { Autocomplete, Textarea, TextInput } from '@mantine/core';
import type { TextField } from '../field-model.js';
import { fieldProblem } from '../field-problems.js';
import { textValue } from '../field-values.js';
import { TextEntry } from '../text-entry.js';
import { emptyOf, inputProps, type WidgetProps } from '../widget.js';

export function TextWidget(props: WidgetProps<TextField>) {
  const { field, value, form, onChange } = props;
  const common = {
    ...inputProps(props),
    value: typeof value === 'string' || typeof value === 'number' ? String(value) : '',
    placeholder: field.placeholder || String(field.default ?? ''),
  };
  const take = (typed: string) => onChange(typed === '' && !field.required ? emptyOf(field) : textValue(field, typed));
  if (form.strict && !field.multiline)
    return (
      <TextEntry
        {...common}
        maxLength={field.maxLength}
        problemOf={(typed) => fieldProblem(field, textValue(field, typed))}
        live
        onCommit={take}
      />
    );
  if (field.examples.length > 2)
    return (
      <Autocomplete {...common} size="xs" data={field.examples} filter={({ options }) => options} onChange={take} />
    );
  const onTyped = (event: { currentTarget: { value: string } }) => take(event.currentTarget.value);
  return field.multiline ? (
    <Textarea {...common} autosize minRows={2} maxRows={6} maxLength={field.maxLength} onChange={onTyped} />
  ) : (
    <TextInput {...common} onChange={onTyped} />
  );
}
