import { NumberInput } from '@mantine/core';
import { unitText } from '@orrery/contract';
import { useEffect, useState } from 'react';
import type { Entry } from '../../format/number.js';
import { isRate, LARGEST_PORT, type NumberField } from '../field-model.js';
import { fieldProblem } from '../field-problems.js';
import { RateInput } from '../rate-input.js';
import { useRejectedEntry } from '../rejected-entries.js';
import { emptyOf, INPUT_ORDER, inputProps, type WidgetProps } from '../widget.js';

export function NumberWidget(props: WidgetProps<NumberField>) {
  return isRate(props.field) ? <RateWidget {...props} /> : <PlainWidget {...props} />;
}

/**
 * A number of the schema. Invalid input stays in the field with an error and changes nothing. One with a default that is emptied
 * must be given in a form that is sent; elsewhere it shows its default again.
 */
function PlainWidget(props: WidgetProps<NumberField>) {
  const { field, form, onChange, problem, hideLabel, label } = props;
  const value: Entry = typeof props.value === 'number' ? props.value : '';
  const [entry, setEntry] = useState<Entry>(value);
  useEffect(() => setEntry(value), [value]);
  const mayBeEmpty = !field.required || form.takesGaps === true;
  const emptied = form.takesGaps && field.default !== undefined && !field.nullable ? '' : emptyOf(field);
  const takes = (next: Entry) =>
    typeof next === 'number' ? !form.strict || fieldProblem(field, next) === null : next === '' && mayBeEmpty;
  const rejected = takes(entry) ? null : (fieldProblem(field, entry) ?? 'must be a number');
  useRejectedEntry(label, rejected);
  return (
    <NumberInput
      {...inputProps(props)}
      min={field.min ?? undefined}
      max={field.max ?? undefined}
      clampBehavior="none"
      hideControls={hideLabel}
      thousandSeparator={field.max !== null && field.max <= LARGEST_PORT ? '' : ','}
      suffix={field.unit && ` ${unitText(field.unit)}`}
      placeholder={(field.default ?? null) === null ? undefined : String(field.default)}
      value={entry}
      error={rejected ?? problem}
      onChange={(next) => {
        setEntry(next);
        if (takes(next)) onChange(next === '' ? emptied : next);
      }}
      onBlur={() => {
        if (!form.takesGaps && entry === '' && typeof field.default === 'number') onChange(field.default);
      }}
    />
  );
}

function RateWidget(props: WidgetProps<NumberField>) {
  const { field, value, label, hideLabel, compact, problem, form, onChange } = props;
  return (
    <RateInput
      label={hideLabel ? label : field.title.replace(' (bit/s)', '')}
      hideLabel={hideLabel}
      most={field.max ?? undefined}
      description={hideLabel || compact ? undefined : field.description || undefined}
      inputWrapperOrder={INPUT_ORDER}
      error={problem}
      disabled={form.readOnly || field.readOnly}
      value={typeof value === 'number' ? value : typeof field.default === 'number' ? field.default : null}
      onChange={(rate) => rate !== null && onChange(rate)}
    />
  );
}
