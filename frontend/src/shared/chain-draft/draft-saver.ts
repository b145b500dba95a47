import type { Chain, ChainDefinition } from '@orrery/contract';
import { createStore, type StoreApi } from 'zustand';
import { same } from '../../editor-model/diff.js';
import { mergeDefinitions, type Overlap } from '../../editor-model/merge.js';
import type { ApiError } from '../api/client.js';
import type { EditorStore } from './store.js';

export interface SaveStatus {
  state: 'saved' | 'waiting' | 'saving' | 'conflict' | 'offline' | 'refused' | 'deleted';
  /** The server's reason for rejecting the draft. */
  error: ApiError | null;
  saved_ms: number | null;
}

export interface DraftServer {
  put(definition: ChainDefinition, etag: string): Promise<{ chain: Chain; etag: string }>;
  get(): Promise<{ chain: Chain; etag: string }>;
  /** Runs `work` after `ms`; the result cancels it. */
  after(ms: number, work: () => void): () => void;
  now(): number;
}

const QUIET_MS = 500;
const RETRY_MS = 2_000;

/**
 * Keeps the server's draft equal to the editor's. One save is in flight at a time, conditional on the revision that it
 * replaces, so that no other work is overwritten. While the server is away, changes wait and are retried.
 */
export class DraftSaver {
  readonly status: StoreApi<SaveStatus>;
  #saved: ChainDefinition;
  #etag: string;
  #cancel: (() => void) | null = null;
  #running: Promise<boolean> | null = null;
  #unsubscribe: (() => void) | null = null;

  constructor(
    private readonly editor: EditorStore,
    private readonly server: DraftServer,
    initial: { chain: Chain; etag: string },
  ) {
    this.#saved = initial.chain.draft;
    this.#etag = initial.etag;
    this.status = createStore<SaveStatus>(() => ({ state: 'saved', error: null, saved_ms: null }));
    this.start();
  }

  /** Starts following the editor; may be called again after `stop`. */
  start(): void {
    this.#unsubscribe ??= this.editor.subscribe((state, before) => {
      if (state.definition !== before.definition) this.#changed();
    });
  }

  get dirty(): boolean {
    const { definition } = this.editor.getState();
    return definition !== this.#saved && !same(definition, this.#saved);
  }

  /** Last known revision of the draft on the server. */
  get revision(): number {
    return revisionOf(this.#etag);
  }

  /** Saves pending changes. False if the server's draft still differs. */
  async flush(): Promise<boolean> {
    this.#cancel?.();
    this.#cancel = null;
    while (this.#running) await this.#running;
    if (this.#settled) return false;
    return this.dirty ? this.#save() : true;
  }

  /** A newer revision arrived from elsewhere: accepted if no local change would be lost. */
  observe({ chain, etag }: { chain: Chain; etag: string }): void {
    if (etag === this.#etag || this.#running || this.dirty || this.status.getState().state === 'deleted') return;
    if (revisionOf(etag) < revisionOf(this.#etag)) return;
    this.#take(chain, etag);
  }

  /** The server no longer has the chain: nothing can be saved. */
  deleted(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#set({ state: 'deleted', error: null });
  }

  /** After a conflict: their draft replaces ours, as one undoable step. */
  async reload(): Promise<void> {
    const { chain, etag } = await this.server.get();
    this.#take(chain, etag);
  }

  /** After a conflict: both drafts are merged, as one undoable step, and saved. Returns where ours won. */
  async merge(): Promise<Overlap[]> {
    const { chain, etag } = await this.server.get();
    const { definition, overlaps } = mergeDefinitions(this.#saved, this.editor.getState().definition, chain.draft);
    this.#saved = chain.draft;
    this.#etag = etag;
    this.editor.apply(() => definition);
    await this.#save();
    return overlaps;
  }

  /** After a conflict: our draft replaces theirs. */
  async overwrite(): Promise<void> {
    const { etag } = await this.server.get();
    this.#etag = etag;
    await this.#save();
  }

  retry(): void {
    if (this.status.getState().state === 'offline') void this.flush();
  }

  /** Saves pending changes immediately, and stops following the editor. False if the server's draft still differs. */
  stop(): Promise<boolean> {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    return this.status.getState().state === 'refused' ? Promise.resolve(false) : this.flush();
  }

  #take(chain: Chain, etag: string): void {
    this.#saved = chain.draft;
    this.#etag = etag;
    if (!same(this.editor.getState().definition, chain.draft)) this.editor.apply(() => chain.draft);
    this.#set({ state: 'saved', error: null });
  }

  /** Suspends automatic saving until the user decides. */
  get #settled(): boolean {
    const { state } = this.status.getState();
    return state === 'conflict' || state === 'deleted';
  }

  #changed(): void {
    if (this.#settled) return;
    this.#cancel?.();
    this.#cancel = null;
    if (!this.dirty) {
      this.#set({ state: this.#running ? 'saving' : 'saved', error: null });
      return;
    }
    if (!this.#running) this.#set({ state: 'waiting' });
    this.#cancel = this.server.after(QUIET_MS, () => void this.flush());
  }

  #save(): Promise<boolean> {
    this.#running = this.#put().finally(() => {
      this.#running = null;
      if (this.dirty && this.status.getState().state === 'saved') this.#changed();
    });
    return this.#running;
  }

  async #put(): Promise<boolean> {
    const { definition } = this.editor.getState();
    this.#set({ state: 'saving' });
    try {
      const { etag } = await this.server.put(definition, this.#etag);
      this.#saved = definition;
      this.#etag = etag;
      this.#set({ state: 'saved', error: null, saved_ms: this.server.now() });
      return true;
    } catch (error) {
      const problem = error as ApiError;
      if (problem.status === 404) this.deleted();
      else if (problem.status === 412) this.#set({ state: 'conflict', error: problem });
      else if (problem.unreachable || problem.status >= 500) {
        this.#set({ state: 'offline', error: problem });
        this.#cancel = this.server.after(RETRY_MS, () => void this.flush());
      } else this.#set({ state: 'refused', error: problem });
      return false;
    }
  }

  #set(change: Partial<SaveStatus>): void {
    this.status.setState(change);
  }
}

/** The number in an ETag such as `"12"` or `W/"12"`. */
function revisionOf(etag: string): number {
  return Number(/\d+/.exec(etag)?.[0] ?? 0);
}
