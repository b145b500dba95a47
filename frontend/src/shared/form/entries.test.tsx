import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { type ReactNode, useState } from 'react';
import { describe, expect, it } from 'vitest';
import { RateInput } from './rate-input.js';
import { TextEntry } from './text-entry.js';

type Field<T> = (value: T, set: (value: T) => void) => ReactNode;

function Host<T>({ initial, field }: { initial: T; field: Field<T> }) {
  const [value, setValue] = useState(initial);
  return (
    <MantineProvider env="test">
      {field(value, setValue)}
      <output>{JSON.stringify(value)}</output>
    </MantineProvider>
  );
}

function show<T>(initial: T, field: Field<T>) {
  render(<Host initial={initial} field={field} />);
  const input = screen.getByRole<HTMLInputElement>('textbox');
  const user = userEvent.setup();
  return {
    input,
    value: () => JSON.parse(screen.getByRole('status').textContent ?? ''),
    /** Puts a text in place of what is there, and leaves the field. */
    async replace(text: string) {
      await user.clear(input);
      if (text) await user.type(input, text);
      await user.tab();
    },
  };
}

describe('fields that a value must fit', () => {
  it.each(['abc', '-3', ''])('keep the rate %j in sight with the reason', async (text) => {
    const { input, value, replace } = show<number>(1e6, (rate, set) => (
      <RateInput label="Rate" value={rate} onChange={(next) => next !== null && set(next)} />
    ));
    await replace(text);
    expect(input.value).toBe(text);
    expect(screen.getByText(/must be a rate/)).toBeTruthy();
    expect(value()).toBe(1e6);
    await replace('3M');
    expect(input.value).toBe('3 Mbit/s');
    expect(value()).toBe(3e6);
  });

  it('tell the largest rate that the field takes', async () => {
    const { replace } = show<number>(1e6, (rate, set) => (
      <RateInput label="Rate" most={100e9} value={rate} onChange={(next) => next !== null && set(next)} />
    ));
    await replace('fast');
    expect(screen.getByText('must be a rate up to 100 Gbit/s, such as 20 Mbit/s')).toBeTruthy();
  });

  it('keep a name of the wrong form in sight with the reason', async () => {
    const problemOf = (text: string) => (/^[a-z]+$/.test(text) ? null : 'small letters');
    const { input, value, replace } = show<string>('guard', (name, set) => (
      <TextEntry label="Name" value={name} problemOf={problemOf} onCommit={set} />
    ));
    await replace('Bad Name!');
    expect(input.value).toBe('Bad Name!');
    expect(screen.getByText('small letters')).toBeTruthy();
    expect(value()).toBe('guard');
    await replace('good');
    expect(value()).toBe('good');
  });

  it('say what is wrong with the value only until another text is typed, which can replace it', async () => {
    const taken = (name: string) => (name === 'linear' ? 'another chain has this name' : null);
    const { input, value, replace } = show<string>('linear', (name, set) => (
      <TextEntry label="Name" value={name} error={taken(name)} problemOf={() => null} onCommit={set} />
    ));
    expect(screen.getByText('another chain has this name')).toBeTruthy();
    await replace('mine');
    expect(value()).toBe('mine');
    expect(input.value).toBe('mine');
    expect(screen.queryByText('another chain has this name')).toBeNull();
  });
});
