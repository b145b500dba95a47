import type { SessionInfo } from '@orrery/contract';

export const SESSION_VERIFIER = Symbol('SessionVerifier');

/** Knows who a bearer token stands for. */
export interface SessionVerifier {
  /** null: no such session, or it is over. */
  verify(token: string): Promise<SessionInfo | null>;
  /** Calls `onEnd` once when the session is signed out or expires; the result takes that back. */
  watch(token: string, session: SessionInfo, onEnd: () => void): () => void;
}
