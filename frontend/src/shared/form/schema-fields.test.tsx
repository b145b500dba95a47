import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { useState } from 'react';
import { describe, expect, it } from 'vitest';
import { type FormField, formFields } from './field-model.js';
import { SchemaFields } from './schema-fields.js';

const schema = {
  type: 'object',
  properties: {
    rate_bps: { type: 'integer', title: 'Rate (bit/s)', minimum: 1 },
    limit: { type: 'integer', title: 'Limit', minimum: 1, maximum: 9 },
    rules: {
      type: 'array',
      title: 'Rules',
      maxItems: 2,
      items: {
        type: 'object',
        required: ['action'],
        properties: {
          action: { type: 'string', enum: ['allow', 'deny'], default: 'deny', title: 'Action' },
          port: { type: ['string', 'integer'], title: 'Port', examples: ['80'] },
        },
      },
    },
    addresses: { type: 'array', title: 'Addresses', items: { type: 'string', title: 'Address' } },
  },
};

interface FormProps {
  initial: Record<string, unknown>;
  changes: string[];
  fields: FormField[];
}

function Form({ initial, changes, fields }: FormProps) {
  const [values, setValues] = useState(initial);
  return (
    <MantineProvider env="test">
      <SchemaFields
        fields={fields}
        values={values}
        path={[]}
        form={{
          readOnly: false,
          problemAt: (path) => (path.join('/') === 'limit' && values.limit === 7 ? 'seven is taken' : null),
          onChange: (path, next) => {
            changes.push(path.join('/'));
            setValues(next);
          },
        }}
      />
      <output>{JSON.stringify(values)}</output>
    </MantineProvider>
  );
}

function show(initial: Record<string, unknown> = {}, fields = formFields(schema)) {
  const changes: string[] = [];
  render(<Form initial={initial} changes={changes} fields={fields} />);
  return { user: userEvent.setup(), values: () => JSON.parse(screen.getByRole('status').textContent ?? ''), changes };
}

describe('SchemaFields', () => {
  it('edits rows, with names or numbers as typed', async () => {
    const { user, values } = show();
    await user.click(screen.getByRole('button', { name: 'Add rule' }));
    await user.type(screen.getByRole('textbox', { name: 'rule 1, Port' }), '443');
    expect(values()).toEqual({ rules: [{ action: 'deny', port: 443 }] });
    await user.type(screen.getByRole('textbox', { name: 'rule 1, Port' }), '-445');
    expect(values()).toEqual({ rules: [{ action: 'deny', port: '443-445' }] });
    expect(screen.getByRole('button', { name: 'rule 1: deny · 443-445' }).getAttribute('aria-expanded')).toBe('true');
    await user.click(screen.getByRole('button', { name: 'Remove rule 1' }));
    expect(values()).toEqual({ rules: [] });
  });

  it('offers no more rows than the schema allows', async () => {
    show({ rules: [{ action: 'allow' }, { action: 'deny' }] });
    expect(screen.queryByRole('button', { name: 'Add rule' })).toBeNull();
  });

  it('edits lists of values', async () => {
    const { user, values } = show({ addresses: ['a'] });
    await user.click(screen.getByRole('button', { name: 'Add address' }));
    await user.type(screen.getByRole('textbox', { name: 'address 2' }), 'b');
    expect(values().addresses).toEqual(['a', 'b']);
  });

  it('says what holds while a list is not set, and unsets it with its last item', async () => {
    const fields = formFields(schema).map((field) =>
      field.kind === 'list' ? { ...field, minItems: 1, unset: 'Chosen by the planner.' } : field,
    );
    const { user, values } = show({}, fields);
    expect(screen.getByText('Chosen by the planner.')).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Add address' }));
    await user.type(screen.getByRole('textbox', { name: 'address 1' }), 'a');
    expect(values()).toEqual({ addresses: ['a'] });
    expect(screen.queryByText('Chosen by the planner.')).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Remove address 1' }));
    expect(values()).toEqual({});
  });

  it('takes rates as people write them and leaves the value alone while they are not rates', async () => {
    const { user, values } = show({ rate_bps: 1_000_000 });
    const field = screen.getByRole('textbox', { name: 'Rate' });
    await user.clear(field);
    await user.type(field, '2.5 M');
    expect(values().rate_bps).toBe(2_500_000);
    await user.clear(field);
    await user.type(field, 'fast');
    expect(values().rate_bps).toBe(2_500_000);
    expect(screen.getByText(/must be a rate/)).toBeTruthy();
  });

  it('shows the default of a number again that is left empty', async () => {
    const grace = { type: 'integer', title: 'Grace', minimum: 1, default: 10 };
    const { user, values } = show({ grace: 15 }, formFields({ type: 'object', properties: { grace } }));
    const field = screen.getByRole<HTMLInputElement>('textbox', { name: 'Grace' });
    await user.clear(field);
    expect(field.value).toBe('');
    await user.tab();
    expect(field.value).toBe('10');
    expect(values()).toEqual({ grace: 10 });
  });

  it('says what is wrong: its own finding first, then the validator’s', async () => {
    const { user, changes } = show({ limit: 1 });
    const field = screen.getByRole('textbox', { name: 'Limit' });
    await user.type(field, '2');
    expect(screen.getByText('must be at most 9')).toBeTruthy();
    await user.clear(field);
    await user.type(field, '7');
    expect(screen.getByText('seven is taken')).toBeTruthy();
    expect(new Set(changes)).toEqual(new Set(['limit']));
  });
});
