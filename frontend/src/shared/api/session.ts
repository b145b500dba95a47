import type { Role, Session } from '@orrery/contract';
import { createStore, useStore } from 'zustand';

const STORAGE_KEY = 'orrery.session';
/** Why the last session of this browser ended, also for windows that are opened or loaded anew afterwards. */
const ENDED_KEY = 'orrery.session-ended';
const RANK: Record<Role, number> = { viewer: 0, operator: 1, designer: 2, admin: 3 };

const ENDINGS = ['left', 'left-untold', 'expired', 'signed-out', 'unknown'] as const;
/** `left`: signed out here; `left-untold`: without the server. `signed-out`: elsewhere. `unknown`: it has not expired, and the server does not know it. */
export type Ending = (typeof ENDINGS)[number];

interface SessionState {
  readonly session: Session | null;
  /** Why the last session ended, for the login page; null: there was none. */
  readonly ended: Ending | null;
}

/** Whether it has expired is for the server to say: the clock of this machine may be wrong. */
function stored(): Session | null {
  try {
    const text = localStorage.getItem(STORAGE_KEY);
    const session = text ? (JSON.parse(text) as Session) : null;
    return typeof session?.token === 'string' ? session : null;
  } catch {
    return null;
  }
}

function storedEnding(): Ending | null {
  try {
    const text = localStorage.getItem(ENDED_KEY);
    return ENDINGS.find((each) => each === text) ?? null;
  } catch {
    return null;
  }
}

export const sessionStore = createStore<SessionState>(() => ({ session: stored(), ended: storedEnding() }));

export function signIn(session: Session): void {
  localStorage.setItem(STORAGE_KEY, JSON.stringify(session));
  localStorage.removeItem(ENDED_KEY);
  sessionStore.setState({ session, ended: null });
}

/** Ends the session of this token. Another one that began since, here or in another window, goes on. */
export function signOut(token: string, ended: Ending): void {
  const kept = stored();
  // Another window that ended it knows why, which the answer to a call of this one does not tell.
  if (kept?.token === token || (kept === null && storedEnding() === null)) {
    localStorage.removeItem(STORAGE_KEY);
    localStorage.setItem(ENDED_KEY, ended);
  }
  if (sessionStore.getState().session?.token === token) sessionStore.setState({ session: null, ended });
}

export function useSession(): Session | null {
  return useStore(sessionStore, (state) => state.session);
}

/** Whether the user of a session may do what `role` may. */
export function mayAs(session: Session | null, role: Role): boolean {
  return session !== null && RANK[session.role] >= RANK[role];
}

/** Why the signed-in user may not do what `role` may; null: it may. */
export function useNeeds(role: Role): string | null {
  return useMay(role) ? null : `Needs the role ${role}`;
}

/** Whether the signed-in user may do what `role` may. */
export function useMay(role: Role): boolean {
  return useStore(sessionStore, ({ session }) => mayAs(session, role));
}
