import type { Role, SessionInfo } from '@orrery/contract';

export const SESSION_VERIFIER = Symbol('SessionVerifier');
export const SESSION_ISSUER = Symbol('SessionIssuer');

/** Knows who a bearer token stands for. */
export interface SessionVerifier {
  /** null: no such session, or it is over. */
  verify(token: string): Promise<SessionInfo | null>;
  /** Calls `onEnd` once when the session is signed out or expires; the result takes that back. */
  watch(token: string, session: SessionInfo, onEnd: () => void): () => void;
}

/** Gives sessions to parts of the server that act on their own. */
export interface SessionIssuer {
  /** A bearer token for the role, under the name by which events tell who acted. */
  issue(role: Role, name: string): Promise<string>;
  close(token: string): Promise<void>;
}
