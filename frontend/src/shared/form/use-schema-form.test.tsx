import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { formFields } from './field-model.js';
import type { Values } from './field-values.js';
import { SchemaFields } from './schema-fields.js';
import { useSchemaForm } from './use-schema-form.js';

const FIELDS = formFields({
  type: 'object',
  properties: {
    rate_bps: { type: 'integer', title: 'Rate (bit/s)', minimum: 1, default: 4e6 },
    limit: { type: 'integer', title: 'Limit', minimum: 1, default: 5 },
    rest: { title: 'Rest' },
    most: { type: 'integer', title: 'Most', minimum: 1 },
    hour: { anyOf: [{ type: 'integer' }, { type: 'null' }], title: 'Hour', default: null },
  },
});
const INITIAL = { rate_bps: 4e6, limit: 5, rest: 1, most: 6, hour: 7 };

function Form({ send }: { readonly send: (values: Values) => void }) {
  const form = useSchemaForm({
    fieldsOf: () => FIELDS,
    initial: INITIAL,
    send: async (values) => send(values),
    onSent: () => undefined,
  });
  return (
    <>
      <SchemaFields {...form.bound} />
      <button type="button" onClick={form.submit}>
        Send
      </button>
    </>
  );
}

function show() {
  const send = vi.fn();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <Form send={send} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const user = userEvent.setup();
  return {
    send,
    replace: async (name: string, text: string) => {
      const field = screen.getByRole('textbox', { name });
      await user.clear(field);
      if (text) await user.type(field, text.replace(/[{[]/g, '$&$&'));
    },
    submit: () => user.click(screen.getByRole('button')),
  };
}

it.each([
  ['Rate', '-4'],
  ['Rate', 'abc'],
  ['Rate', ''],
  ['Limit', '-4'],
  ['Limit', ''],
  ['Rest', '{"a"'],
])('a form whose field %s shows %j, which it rejects, is not sent with the value before', async (name, text) => {
  const { send, replace, submit } = show();
  await replace(name, text);
  await submit();
  expect(send).not.toHaveBeenCalled();
  await replace(name, '7');
  await submit();
  expect(send).toHaveBeenCalledOnce();
});

it('a number that has a default must be given once it is emptied, others are optional', async () => {
  const { send, replace, submit } = show();
  for (const name of ['Limit', 'Most', 'Hour']) await replace(name, '');
  await submit();
  expect(screen.getAllByText('must be given')).toHaveLength(1);
  await replace('Limit', '9');
  await submit();
  expect(send).toHaveBeenCalledWith({ rate_bps: 4e6, limit: 9, rest: 1, hour: null });
});
