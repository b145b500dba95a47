import { Select } from '@mantine/core';
import type { ChoiceField } from '../field-model.js';
import { emptyOf, inputProps, type WidgetProps } from '../widget.js';

export function ChoiceWidget(props: WidgetProps<ChoiceField>) {
  const { field, value, onChange } = props;
  const shown = value ?? field.default;
  return (
    <Select
      {...inputProps(props)}
      data={field.options.map((option) => ({ value: String(option.value), label: option.title }))}
      value={shown === undefined || shown === null ? null : String(shown)}
      allowDeselect={!field.required && value !== undefined}
      onChange={(next) =>
        onChange(field.options.find((option) => String(option.value) === next)?.value ?? emptyOf(field))
      }
    />
  );
}
