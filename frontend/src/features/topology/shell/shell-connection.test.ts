import { SHELL_INPUT_CHARS, SHELL_WINDOW_BYTES, ShellClientMessage } from '@orrery/contract';
import { expect, it } from 'vitest';
import { ShellConnection, type ShellSocket } from './shell-connection.js';

function setUp() {
  const sent: ShellClientMessage[] = [];
  const told: string[] = [];
  const shown: (() => void)[] = [];
  const socket: ShellSocket & { closed: boolean } = {
    closed: false,
    send: (text) => void sent.push(ShellClientMessage.parse(JSON.parse(text))),
    close: () => {
      socket.closed = true;
    },
    onopen: null,
    onclose: null,
    onmessage: null,
  };
  const connection = new ShellConnection(
    socket,
    { token: 't', instance_id: 'c.nf.0' },
    { columns: 80, rows: 24 },
    {
      opened: () => told.push('opened'),
      output: (bytes, then) => {
        told.push(new TextDecoder().decode(bytes));
        shown.push(then);
      },
      untaken: (chars) => told.push(`untaken ${chars}`),
      ended: (why) => told.push(`ended: ${why}`),
    },
  );
  const says = (message: object) => socket.onmessage!({ data: JSON.stringify(message) });
  const output = (text: string) =>
    says({ type: 'output', base64: btoa(String.fromCharCode(...new TextEncoder().encode(text))) });
  return { sent, told, shown, socket, connection, says, output };
}

it('opens a shell in the size of its terminal, and tells of a size that changed meanwhile', () => {
  const { sent, told, socket, connection, says } = setUp();
  socket.onopen!();
  connection.type('lost before it is open');
  connection.resize({ columns: 100, rows: 30 });
  connection.resize({ columns: 100, rows: 30 });
  says({ type: 'opened' });
  connection.resize({ columns: 90, rows: 30 });
  expect(told).toEqual(['opened']);
  expect(sent).toEqual([
    { type: 'open', token: 't', instance_id: 'c.nf.0', columns: 80, rows: 24 },
    { type: 'resize', columns: 100, rows: 30 },
    { type: 'resize', columns: 90, rows: 30 },
  ]);
});

it('tells of output once it is shown, and never keeps a program waiting for good', () => {
  const { sent, told, shown, socket, says, output } = setUp();
  socket.onopen!();
  says({ type: 'opened' });
  output('é');
  expect(told.at(-1)).toBe('é');
  const part = SHELL_WINDOW_BYTES / 16;
  for (let i = 0; i < 16; i++) output('x'.repeat(part));
  expect(sent.filter(({ type }) => type === 'taken')).toEqual([]);
  for (const then of shown) then();
  const taken = sent.reduce((sum, one) => sum + (one.type === 'taken' ? one.bytes : 0), 0);
  // What is not told yet is well below the window.
  expect(SHELL_WINDOW_BYTES + 2 - taken).toBeLessThan(SHELL_WINDOW_BYTES / 2);
});

it('sends a long paste in parts', () => {
  const { sent, socket, connection, says } = setUp();
  socket.onopen!();
  says({ type: 'opened' });
  const paste = 'abc'.repeat(SHELL_INPUT_CHARS);
  connection.type(paste);
  expect(sent.flatMap((one) => (one.type === 'input' ? [one.text] : [])).join('')).toBe(paste);
});

it('says once why it ended', () => {
  const refused = setUp();
  refused.socket.onopen!();
  refused.says({ type: 'refused', detail: 'a shell needs the role admin' });
  refused.socket.onclose!();
  expect([refused.told, refused.socket.closed]).toEqual([['ended: a shell needs the role admin'], true]);
  const cut = setUp();
  cut.socket.onopen!();
  cut.says({ type: 'opened' });
  cut.says({ type: 'untaken', chars: 7 });
  cut.socket.onclose!();
  cut.output('late');
  expect(cut.told).toEqual(['opened', 'untaken 7', 'ended: the connection to the server ended']);
  const closed = setUp();
  closed.connection.close();
  closed.socket.onclose!();
  expect(closed.told).toEqual([]);
});
