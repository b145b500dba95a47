import { Button, NativeSelect, PasswordInput } from '@mantine/core';
import type { Role } from '@orrery/contract';
import { type FormEvent, useState } from 'react';
import { Navigate, useSearchParams } from 'react-router';
import { useStore } from 'zustand';
import { ApiError, call } from '../shared/api/client.js';
import { type Ending, sessionStore, signIn, useSession } from '../shared/api/session.js';
import { useDocumentTitle } from '../shared/page/page-header.js';
import classes from './login.module.css';
import { Logo } from './logo.js';

const ENDED: Readonly<Record<Ending, string>> = {
  left: 'You have signed out.',
  'left-untold':
    'You have signed out of this browser, but the server could not be told: the session stays valid until it expires.',
  expired: 'Your session has expired. Sign in again to continue.',
  'signed-out': 'Your session was signed out in another window, or by somebody who has it. Sign in again to continue.',
  unknown:
    'The server does not know your session any more: its admin secret was replaced, or its store began anew. Sign in again to continue.',
};

/** From all rights to none. A session may have fewer rights than its secret grants. */
const ROLES: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'admin', label: 'Admin: everything' },
  { value: 'designer', label: 'Designer: edit chains, run scenarios, and everything of an operator' },
  { value: 'operator', label: 'Operator: deploy, move NFs, send traffic' },
  { value: 'viewer', label: 'Viewer: look only' },
];

function reason(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The console failed to read the answer.';
  if (error.unreachable) return 'The server does not answer. Is it running?';
  if (error.status === 401 || error.status === 403) return 'This is not the secret.';
  if (error.status === 429) return 'Too many attempts. Wait a minute and try again.';
  return error.message;
}

/** After sign-in, redirect only to paths of this console. */
function safeNext(next: string | null): string {
  return next?.startsWith('/') && !next.startsWith('//') ? next : '/';
}

export function LoginPage() {
  useDocumentTitle('Sign in');
  const session = useSession();
  const ended = useStore(sessionStore, (state) => state.ended);
  const [search] = useSearchParams();
  const [secret, setSecret] = useState('');
  const [role, setRole] = useState<Role>('admin');
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  if (session) return <Navigate to={safeNext(search.get('next'))} replace />;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (secret.trim() === '') {
      setError('Enter the secret.');
      return;
    }
    setBusy(true);
    setError(null);
    try {
      signIn(await call('createSession', { body: { secret: secret.trim(), role } }));
    } catch (caught) {
      setError(reason(caught));
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className={classes.page}>
      <form className={classes.form} onSubmit={submit} noValidate>
        <div className={classes.brand}>
          <Logo size={28} />
          <h1>Orrery</h1>
        </div>
        <p className="muted">A console for network functions, with a model of your network that moves as it does.</p>
        {ended && !error && (
          <p role="status" className={classes.notice}>
            {ENDED[ended]}
          </p>
        )}
        <PasswordInput
          label="Secret"
          name="secret"
          autoComplete="current-password"
          autoFocus
          value={secret}
          error={error}
          onChange={(event) => setSecret(event.currentTarget.value)}
        />
        <NativeSelect
          label="Role"
          name="role"
          data={[...ROLES]}
          value={role}
          onChange={(event) => setRole(event.currentTarget.value as Role)}
        />
        <Button type="submit" size="sm" fullWidth loading={busy}>
          Sign in
        </Button>
        <details className={classes.help}>
          <summary>Where is the secret?</summary>
          <p>
            The server prints it once, when it starts for the first time: look for <code>first-run admin secret</code>{' '}
            in the terminal. It is also in the file <code>admin-secret</code> of its state directory,{' '}
            <code>.orrery/state</code> unless you chose another.
          </p>
        </details>
      </form>
    </main>
  );
}
