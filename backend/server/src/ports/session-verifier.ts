import type { SessionInfo } from '@orrery/contract';

export const SESSION_VERIFIER = Symbol('SessionVerifier');

/** Knows who a bearer token stands for. */
export interface SessionVerifier {
  /** null: no such session, or it is over. */
  verify(token: string): Promise<SessionInfo | null>;
}
