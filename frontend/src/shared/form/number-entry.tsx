import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useEffect, useState } from 'react';
import { type Entry, type NumberBounds, numberProblem } from '../format/number.js';

interface NumberEntryProps
  extends NumberBounds,
    Omit<NumberInputProps, 'value' | 'onChange' | 'error' | 'min' | 'max'> {
  readonly value: number;
  readonly onChange: (value: number) => void;
}

/** A number within bounds. Invalid input stays in the field with an error and changes nothing. */
export function NumberEntry({ value, onChange, min, max, whole, ...rest }: NumberEntryProps) {
  const [entry, setEntry] = useState<Entry>(value);
  useEffect(() => setEntry(value), [value]);
  return (
    <NumberInput
      {...rest}
      min={min}
      max={max}
      clampBehavior="none"
      value={entry}
      error={numberProblem({ min, max, whole }, entry)}
      onChange={(next) => {
        setEntry(next);
        if (typeof next === 'number' && !numberProblem({ min, max, whole }, next)) onChange(next);
      }}
    />
  );
}
