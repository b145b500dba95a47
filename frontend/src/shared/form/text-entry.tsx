import { TextInput, type TextInputProps } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useRejectedEntry } from './rejected-entries.js';

interface TextEntryProps extends Omit<TextInputProps, 'value' | 'onChange' | 'error'> {
  readonly value: string;
  /** What is wrong with the value, shown until the text differs from it. */
  readonly error?: string | null;
  /** Why a text cannot become the value, or null. */
  readonly problemOf: (text: string) => string | null;
  readonly onCommit: (text: string) => void;
  /** Passes on each valid text while typing, not only the final one. */
  readonly live?: boolean;
}

/** A text with a required format. Invalid input stays in the field with an error and changes nothing. */
export function TextEntry({ value, error = null, problemOf, onCommit, live = false, ...rest }: TextEntryProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const rejected = problemOf(text);
  const { label, 'aria-label': said } = rest;
  useRejectedEntry(said ?? (typeof label === 'string' ? label : ''), rejected);
  const commit = (next: string) => {
    if (next !== value && problemOf(next) === null) onCommit(next);
  };
  return (
    <TextInput
      {...rest}
      value={text}
      error={rejected ?? (text === value ? error : null)}
      onChange={(event) => {
        const next = event.currentTarget.value;
        setText(next);
        if (live) commit(next);
      }}
      onBlur={() => commit(text)}
      onKeyDown={(event) => event.key === 'Enter' && commit(text)}
    />
  );
}
