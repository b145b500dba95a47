import { Checkbox } from '@mantine/core';
import type { BooleanField } from '../field-model.js';
import { inputProps, type WidgetProps } from '../widget.js';

export function BooleanWidget(props: WidgetProps<BooleanField>) {
  const { required: _required, inputWrapperOrder: _order, ...common } = inputProps(props);
  return (
    <Checkbox
      {...common}
      size="xs"
      checked={typeof props.value === 'boolean' ? props.value : props.field.default === true}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}
