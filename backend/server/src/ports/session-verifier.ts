import type { Role, SessionInfo } from '@orrery/contract';

export const SESSION_VERIFIER = Symbol('SessionVerifier');
export const SESSION_ISSUER = Symbol('SessionIssuer');

/** Resolves bearer tokens to sessions. */
export interface SessionVerifier {
  /** Null if there is no such session, or it has ended. */
  verify(token: string): Promise<SessionInfo | null>;
  /** Why there is no such session. `unknown`: it has expired, the admin secret was replaced, or the store has lost it. */
  whyNone(token: string): Promise<'signed-out' | 'unknown'>;
  /** Calls `onEnd` once when the session is signed out or expires; returns a function that unsubscribes. */
  watch(token: string, session: SessionInfo, onEnd: () => void): () => void;
}

/** Issues sessions for control loops of the server. */
export interface SessionIssuer {
  /** A bearer token for the role; events name `name` as the actor. */
  issue(role: Role, name: string): Promise<string>;
  close(token: string): Promise<void>;
}
