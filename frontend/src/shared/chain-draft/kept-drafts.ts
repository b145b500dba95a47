import type { DraftSaver } from './draft-saver.js';
import type { EditorStore } from './store.js';

/** The draft of a chain while it is edited: what the canvas shows, its undo history, and what the server has of it. */
export interface DraftSession {
  readonly store: EditorStore;
  readonly saver: DraftSaver;
  /** Who edits it; nobody else who signs in at this window gets it. */
  readonly user: string | undefined;
}

const kept = new Map<string, DraftSession>();

const keyOf = (chainId: string, user: string | undefined) => JSON.stringify([chainId, user]);
const isUnsaved = ({ saver }: DraftSession) => saver.dirty && saver.status.getState().state !== 'deleted';

/** Keeps a draft that the server has not accepted until its user opens its chain again in this window. */
export function keepDraft(chainId: string, session: DraftSession): void {
  const key = keyOf(chainId, session.user);
  if (isUnsaved(session)) kept.set(key, session);
  else kept.delete(key);
}

/** The unsaved draft with which this user left the pages of this chain; null if there is none. */
export function keptDraft(chainId: string, user: string | undefined): DraftSession | null {
  const session = kept.get(keyOf(chainId, user));
  return session && isUnsaved(session) ? session : null;
}

/** Closing the window would lose what is kept: the browser asks. */
window.addEventListener('beforeunload', (event) => {
  if ([...kept.values()].some(isUnsaved)) event.preventDefault();
});
