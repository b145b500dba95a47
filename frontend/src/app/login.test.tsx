import { MantineProvider } from '@mantine/core';
import type { Session } from '@orrery/contract';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it, vi } from 'vitest';
import { call } from '../shared/api/client.js';
import { sessionStore, signIn, signOut } from '../shared/api/session.js';
import { LoginPage } from './login.js';
import { leave } from './user-menu.js';

const HOUR_MS = 3_600_000;
const session = (token: string, left_ms = HOUR_MS): Session => ({
  token,
  name: 'ann',
  role: 'admin',
  expires_ms: Date.now() + left_ms,
});

function refusal(code: string): Response {
  const error = { pointer: '', header: 'authorization', detail: 'x', code };
  const problem = { type: 'about:blank', title: 'No valid session', status: 401, errors: [error] };
  return new Response(JSON.stringify(problem), { status: 401, headers: { date: new Date().toUTCString() } });
}

function otherWindow() {
  vi.resetModules();
  return import('../shared/api/session.js');
}

/** What a window knows that is opened now. */
const inNewWindow = async () => (await otherWindow()).sessionStore.getState();

function show() {
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <LoginPage />
      </MemoryRouter>
    </MantineProvider>,
  );
}

afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
  sessionStore.setState({ session: null, ended: null });
});

it('says that each role may do what the roles below it may', () => {
  show();
  expect(screen.getByRole('option', { name: /^Designer: .* and everything of an operator$/ })).toBeTruthy();
  expect(screen.queryByRole('status')).toBeNull();
});

it.each([
  ['expired', -1000, 'unknown', /has expired/],
  ['signed-out', HOUR_MS, 'signed-out', /signed out in another window, or by somebody/],
  ['unknown', HOUR_MS, 'unknown', /does not know your session any more/],
] as const)('says why a session ended (%s), also once it is loaded anew', async (ended, left_ms, code, text) => {
  signIn(session('t-1', left_ms));
  vi.stubGlobal('fetch', async () => refusal(code));
  await expect(call('getHealth', {})).rejects.toThrow();
  show();
  expect(screen.getByRole('status').textContent).toMatch(text);
  expect(await inNewWindow()).toEqual({ session: null, ended });
});

it('says that one has signed out oneself, and nothing of it after the next sign-in', async () => {
  signIn(session('t-1'));
  signOut('t-1', 'left');
  show();
  expect(screen.getByRole('status').textContent).toBe('You have signed out.');
  signIn(session('t-2'));
  expect(await inNewWindow()).toMatchObject({ session: { token: 't-2' }, ended: null });
});

it('says so if the server could not be told that one has signed out', async () => {
  signIn(session('t-1'));
  vi.stubGlobal('fetch', async () => new Response('{}', { status: 503 }));
  await leave();
  show();
  expect(screen.getByRole('status').textContent).toMatch(
    /signed out of this browser, but the server could not be told/,
  );
  expect(await inNewWindow()).toEqual({ session: null, ended: 'left-untold' });
});

it('keeps why another window ended the session, for whoever opens the next one', async () => {
  signIn(session('t-1'));
  const other = await otherWindow();
  signOut('t-1', 'left');
  other.signOut('t-1', 'signed-out');
  expect(other.sessionStore.getState()).toEqual({ session: null, ended: 'signed-out' });
  expect(await inNewWindow()).toEqual({ session: null, ended: 'left' });
});

it('goes on with a session that began before another one was refused, here and in other windows', async () => {
  signIn(session('t-1'));
  let answer: (response: Response) => void = () => undefined;
  vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => (answer = resolve)));
  const late = call('getHealth', {});
  signIn(session('t-2'));
  answer(refusal('signed-out'));
  await expect(late).rejects.toThrow();
  expect(sessionStore.getState()).toMatchObject({ session: { token: 't-2' }, ended: null });
  expect(await inNewWindow()).toMatchObject({ session: { token: 't-2' }, ended: null });
});

it('leaves it to the server whether a session has expired: the clock here may be wrong', async () => {
  signIn(session('t-1', -HOUR_MS));
  expect(await inNewWindow()).toMatchObject({ session: { token: 't-1' } });
});
