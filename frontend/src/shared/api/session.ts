import type { Role, Session } from '@orrery/contract';
import { createStore, useStore } from 'zustand';

const STORAGE_KEY = 'orrery.session';
const RANK: Record<Role, number> = { viewer: 0, operator: 1, designer: 2, admin: 3 };

interface SessionState {
  readonly session: Session | null;
  /** Why the last session ended, for the login page. */
  readonly ended: 'expired' | 'refused' | null;
}

function stored(): Session | null {
  try {
    const text = localStorage.getItem(STORAGE_KEY);
    const session = text ? (JSON.parse(text) as Session) : null;
    return session && session.expires_ms > Date.now() ? session : null;
  } catch {
    return null;
  }
}

export const sessionStore = createStore<SessionState>(() => ({ session: stored(), ended: null }));

export function signIn(session: Session): void {
  localStorage.setItem(STORAGE_KEY, JSON.stringify(session));
  sessionStore.setState({ session, ended: null });
}

export function signOut(ended: SessionState['ended'] = null): void {
  localStorage.removeItem(STORAGE_KEY);
  sessionStore.setState({ session: null, ended });
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
