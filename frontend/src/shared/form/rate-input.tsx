import { TextInput, type TextInputProps } from '@mantine/core';
import { MOST_RATE_BPS } from '@orrery/contract';
import { useEffect, useState } from 'react';
import { parseRate, rateText } from '../../editor-model/rate.js';
import { useRejectedEntry } from './rejected-entries.js';

interface RateInputProps extends Pick<TextInputProps, 'inputWrapperOrder'> {
  readonly label: string;
  readonly value: number | null;
  readonly onChange: (bps: number | null) => void;
  /** Largest rate, bit/s. */
  readonly most?: number;
  /** Shown while nothing is set; with it the field may be emptied. */
  readonly placeholder?: string;
  readonly description?: string;
  readonly error?: string | null;
  readonly disabled?: boolean;
  readonly hideLabel?: boolean;
}

/** A rate as people write it: `20M`, `1.5 Gbit/s`. Invalid input stays in the field with an error and changes nothing. */
export function RateInput({
  label,
  value,
  onChange,
  most = MOST_RATE_BPS,
  placeholder,
  hideLabel,
  error,
  ...rest
}: RateInputProps) {
  const shown = value === null ? '' : rateText(value);
  const [text, setText] = useState(shown);
  const [bad, setBad] = useState(false);
  useEffect(() => {
    setText((now) => ((now.trim() === '' ? null : parseRate(now)) === value ? now : shown));
    setBad(false);
  }, [value, shown]);
  const rejected = bad ? `must be a rate up to ${rateText(most)}, such as ${rateText(Math.min(20e6, most))}` : null;
  useRejectedEntry(label, rejected);
  return (
    <TextInput
      label={hideLabel ? undefined : label}
      aria-label={hideLabel ? label : undefined}
      placeholder={placeholder}
      value={text}
      error={rejected ?? error}
      {...rest}
      onChange={(event) => {
        const typed = event.currentTarget.value;
        setText(typed);
        const rate = typed.trim() === '' && placeholder !== undefined ? null : parseRate(typed);
        const valid = rate !== null || (typed.trim() === '' && placeholder !== undefined);
        setBad(!valid);
        if (valid) onChange(rate);
      }}
      onBlur={() => !bad && setText(shown)}
    />
  );
}
