import { MantineProvider } from '@mantine/core';
import type { NfInstance, Session } from '@orrery/contract';
import { act, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import type { ScreenHandlers } from '../shell/terminal-screen.js';
import { InstanceShell } from './instance-shell.js';

vi.mock('../../../shared/api/queries.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/queries.js')>()),
  useNodes: vi.fn(),
}));
const { useNodes } = await import('../../../shared/api/queries.js');

const screens: { handlers: ScreenHandlers; label: string; written: string; isOver: boolean }[] = [];
vi.mock('../shell/terminal-screen.js', () => ({
  TerminalScreen: class {
    size = { columns: 80, rows: 24 };
    readonly made: (typeof screens)[number];
    constructor(_: HTMLElement, label: string, __: boolean, handlers: ScreenHandlers) {
      this.made = { handlers, label, written: '', isOver: false };
      screens.push(this.made);
    }
    set forReaders(_: boolean) {}
    write(bytes: Uint8Array, shown: () => void) {
      this.made.written += new TextDecoder().decode(bytes);
      shown();
    }
    focus() {}
    end() {
      this.made.isOver = true;
    }
    dispose() {}
  },
}));

class FakeSocket {
  static last: FakeSocket;
  readonly sent: { type: string }[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  constructor(readonly url: URL) {
    FakeSocket.last = this;
  }
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.closed = true;
  }
  says(message: object) {
    act(() => this.onmessage!({ data: JSON.stringify(message) }));
  }
}

const INSTANCE = { id: 'c.nf.0', driver: 'container', server: 'server-1', state: 'running' } as NfInstance;

function show(instance: Partial<NfInstance> = {}, shell = true, role: Session['role'] = 'admin') {
  const capabilities = { containers: { available: true, detail: '', shell } };
  vi.mocked(useNodes).mockReturnValue({ data: [{ id: 'server-1', capabilities }] } as never);
  sessionStore.setState({ session: { role, token: 'tok', name: 'ann', expires_ms: 9e15 } });
  render(
    <MantineProvider env="test">
      <InstanceShell instance={{ ...INSTANCE, ...instance }} />
    </MantineProvider>,
  );
}

it.each([
  [{ driver: 'engine' as const }, true, 'admin' as const, 'It runs in no container.'],
  [{}, true, 'designer' as const, 'Needs the role admin.'],
  [{}, false, 'admin' as const, 'The agent of server-1 does not allow it (orrery-agent --nf-shell on).'],
  [{ state: 'failed' as const }, true, 'admin' as const, 'It does not run.'],
])('says why there is no shell: %j, allowed %s, %s', async (instance, isAllowed, role, words) => {
  show(instance, isAllowed, role);
  expect(await screen.findByText(words)).toBeTruthy();
  expect(screen.queryByRole('button')).toBeNull();
});

it('opens a terminal, says what happens to it, and ends the shell with the dialog', async () => {
  vi.stubGlobal('WebSocket', FakeSocket);
  const user = userEvent.setup();
  show();
  await user.click(await screen.findByRole('button', { name: 'Open a shell…' }));
  const state = await screen.findByRole('status');
  const socket = FakeSocket.last;
  expect(socket.url.pathname).toBe('/api/v1/shell');
  act(() => socket.onopen!());
  expect(socket.sent[0]).toMatchObject({ type: 'open', token: 'tok', instance_id: 'c.nf.0', columns: 80 });
  socket.says({ type: 'opened' });
  expect(state.textContent).toContain('Shift+Esc leaves the terminal');
  socket.says({ type: 'output', base64: btoa('$ ') });
  const terminal = screens.at(-1)!;
  expect([terminal.label, terminal.written]).toEqual(['Shell in c.nf.0', '$ ']);
  act(() => terminal.handlers.typed('ls\r'));
  expect(socket.sent.at(-1)).toEqual({ type: 'input', text: 'ls\r' });
  act(() => terminal.handlers.leave());
  expect(document.activeElement?.textContent).toBe('End shell');
  const above = vi.fn();
  document.addEventListener('keydown', above);
  await user.keyboard('{Escape}');
  expect(above).not.toHaveBeenCalled();
  expect(state.isConnected && !socket.closed).toBe(true);
  socket.says({ type: 'untaken', chars: 9 });
  expect(state.textContent).toContain('9 characters');
  socket.says({ type: 'ended', detail: 'the shell ended with exit code 0' });
  expect(state.textContent).toContain('ended: the shell ended with exit code 0');
  expect(terminal.isOver).toBe(true);
  await user.click(screen.getByText('Close'));
  expect(screen.queryByRole('status')).toBeNull();
});
