import { JsonInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { RawField } from '../field-model.js';
import { useRejectedEntry } from '../rejected-entries.js';
import { inputProps, type WidgetProps } from '../widget.js';

const NO_JSON = 'must be JSON';

/** JSON, applied on blur. */
export function RawWidget(props: WidgetProps<RawField>) {
  const { value, onChange, label } = props;
  const common = inputProps(props);
  const shown = value === undefined ? '' : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [bad, setBad] = useState(false);
  useEffect(() => {
    setText(shown);
    setBad(false);
  }, [shown]);
  const problem = bad ? NO_JSON : null;
  useRejectedEntry(label, problem);
  const take = () => {
    try {
      const next: unknown = text.trim() === '' ? undefined : JSON.parse(text);
      setBad(false);
      if (JSON.stringify(next) !== JSON.stringify(value)) onChange(next);
    } catch {
      setBad(true);
    }
  };
  return (
    <JsonInput
      {...common}
      size="xs"
      autosize
      maxRows={10}
      value={text}
      error={problem ?? common.error}
      onChange={setText}
      onBlur={take}
    />
  );
}
