import { SegmentedControl } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import classes from './form-dialog.module.css';

interface ChoiceProps<T extends string> {
  readonly label: ReactNode;
  readonly choices: readonly { readonly value: T; readonly label: string; readonly says: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A choice of a few, with what the chosen one means. */
export function Choice<T extends string>({ label, choices, value, onChange }: ChoiceProps<T>) {
  const id = useId();
  return (
    <div className={classes.choice}>
      <span id={id}>{label}</span>
      <SegmentedControl
        fullWidth
        aria-labelledby={id}
        data={choices.map((choice) => ({ value: choice.value, label: choice.label }))}
        value={value}
        onChange={(next) => onChange(next as T)}
      />
      <p className={classes.hint}>{choices.find((choice) => choice.value === value)?.says}</p>
    </div>
  );
}
