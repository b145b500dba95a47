import { sessionStore } from '../api/session.js';
import type { DraftSaver } from './draft-saver.js';
import type { EditorStore } from './store.js';

/** The draft of a chain while it is edited: what the canvas shows, its undo history, and what the server has of it. */
export interface DraftSession {
  readonly store: EditorStore;
  readonly saver: DraftSaver;
}

interface Kept {
  readonly session: DraftSession;
  /** Whose draft it is; nobody else who signs in at this window gets it. */
  readonly user: string | undefined;
}

const kept = new Map<string, Kept>();

const currentUser = () => sessionStore.getState().session?.name;
const isUnsaved = ({ saver }: DraftSession) => saver.dirty && saver.status.getState().state !== 'deleted';

/** Keeps a draft that the server has not accepted until its chain is opened again in this window. */
export function keepDraft(chainId: string, session: DraftSession): void {
  if (isUnsaved(session)) kept.set(chainId, { session, user: currentUser() });
  else kept.delete(chainId);
}

/** The unsaved draft with which the pages of this chain were left; null if there is none. */
export function keptDraft(chainId: string): DraftSession | null {
  const draft = kept.get(chainId);
  return draft && draft.user === currentUser() && isUnsaved(draft.session) ? draft.session : null;
}

/** Closing the window would lose what is kept: the browser asks. */
window.addEventListener('beforeunload', (event) => {
  if ([...kept.values()].some(({ session }) => isUnsaved(session))) event.preventDefault();
});
