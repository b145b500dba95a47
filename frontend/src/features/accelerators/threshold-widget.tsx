import { NumberInput, Select } from '@mantine/core';
import type { FormField } from '../../shared/form/field-model.js';
import { asValues } from '../../shared/form/field-values.js';
import type { WidgetProps } from '../../shared/form/widget.js';
import classes from './accelerators.module.css';
import { fromUnit, inUnit, METRIC_UNITS, type Metric } from './thresholds.js';

const METRICS = (Object.keys(METRIC_UNITS) as Metric[]).map((value) => ({ value, label: METRIC_UNITS[value].label }));

/** The load at which an NF moves and moves back, in the unit of its metric. */
export function ThresholdWidget({ value, path, form, onChange }: WidgetProps<FormField>) {
  const threshold = asValues(value);
  const metric = threshold.metric as Metric;
  const { suffix } = METRIC_UNITS[metric];
  const set = (change: Readonly<Record<string, unknown>>) => onChange({ ...threshold, ...change });
  const level = (name: 'up' | 'down', label: string) => (
    <NumberInput
      label={label}
      suffix={suffix}
      clampBehavior="none"
      disabled={form.readOnly}
      value={typeof threshold[name] === 'number' ? inUnit(threshold[name], metric) : ''}
      error={form.problemAt([...path, name])}
      onChange={(entry) => set({ [name]: typeof entry === 'number' ? fromUnit(entry, metric) : undefined })}
    />
  );
  return (
    <div className={`${classes.pair} ${classes.wideField}`}>
      <Select
        label="Load"
        data={METRICS}
        disabled={form.readOnly}
        value={metric}
        error={form.problemAt([...path, 'metric'])}
        onChange={(next) => next && set({ metric: next, up: undefined, down: undefined })}
      />
      <NumberInput
        label="Threshold exceeded for"
        suffix=" s"
        clampBehavior="none"
        disabled={form.readOnly}
        value={typeof threshold.for_s === 'number' ? threshold.for_s : ''}
        error={form.problemAt([...path, 'for_s'])}
        onChange={(entry) => set({ for_s: typeof entry === 'number' ? entry : undefined })}
      />
      {level('up', 'To the board above')}
      {level('down', 'Back to software below')}
    </div>
  );
}
