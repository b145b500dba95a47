import type { Chain, ChainDefinition } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { retitleNode } from '../../editor-model/edit.js';
import { chain } from '../../editor-model/testing.js';
import { ApiError } from '../api/client.js';
import { DraftSaver, type DraftServer } from './draft-saver.js';
import { createEditorStore } from './store.js';

const draft = chain('ingress>monitor', 'monitor>egress');
const stored = (definition: ChainDefinition, revision: number): Chain => ({
  id: 'p1',
  project: 'default',
  draft: definition,
  revision,
  draft_differs: true,
  versions: [],
  deployed_version: null,
  deployment_state: 'none',
  created_ms: 0,
  updated_ms: 0,
});
const problem = (status: number) => new ApiError({ type: 'about:blank', title: `${status}`, status }, status === 0);

/** A server of one draft that counts revisions; timers run when `tick` is called. */
function setup() {
  const timers = new Set<() => void>();
  const server = {
    stored: stored(draft, 1),
    fail: null as ApiError | null,
    puts: 0,
    hold: null as Promise<void> | null,
  };
  const port: DraftServer = {
    now: () => 0,
    after: (_, work) => {
      timers.add(work);
      return () => timers.delete(work);
    },
    get: async () => ({ chain: server.stored, etag: `"${server.stored.revision}"` }),
    put: async (definition, etag) => {
      server.puts++;
      await server.hold;
      if (server.fail) throw server.fail;
      if (etag !== `"${server.stored.revision}"`) throw problem(412);
      server.stored = stored(definition, server.stored.revision + 1);
      return { chain: server.stored, etag: `"${server.stored.revision}"` };
    },
  };
  const editor = createEditorStore(draft);
  const saver = new DraftSaver(editor, port, { chain: server.stored, etag: '"1"' });
  const title = (text: string) => editor.apply((definition) => retitleNode(definition, 'monitor', text));
  const tick = async () => {
    const due = [...timers];
    timers.clear();
    for (const work of due) work();
    await saver.flush();
  };
  /** Saves wait until the result is called. */
  const holdPuts = () => {
    let release = () => {};
    server.hold = new Promise((resolve) => {
      release = resolve;
    });
    return () => release();
  };
  return { server, editor, saver, title, tick, holdPuts, state: () => saver.status.getState().state };
}

describe('DraftSaver', () => {
  it('saves a burst of changes once, after it', async () => {
    const { server, saver, title, tick, state } = setup();
    title('A');
    title('AB');
    expect(state()).toBe('waiting');
    await tick();
    expect(state()).toBe('saved');
    expect(server.puts).toBe(1);
    expect(server.stored.draft.nodes[1]).toMatchObject({ title: 'AB' });
    expect(saver.dirty).toBe(false);
  });

  it('saves what was typed while a save was under way', async () => {
    const { server, title, tick, saver, holdPuts } = setup();
    const release = holdPuts();
    title('A');
    const first = saver.flush();
    title('B');
    release();
    await first;
    await tick();
    expect(server.stored).toMatchObject({ revision: 3 });
    expect(server.stored.draft.nodes[1]).toMatchObject({ title: 'B' });
  });

  it('never conflicts with itself when the timer and a button wait for the same save', async () => {
    const { server, title, saver, state, holdPuts } = setup();
    const release = holdPuts();
    title('A');
    const first = saver.flush();
    title('B');
    const both = [saver.flush(), saver.flush()];
    release();
    expect(await Promise.all([first, ...both])).toEqual([true, true, true]);
    expect(state()).toBe('saved');
    expect(server).toMatchObject({ puts: 2, stored: { revision: 3 } });
  });

  it('stops at a conflict and lets the operator choose', async () => {
    const one = setup();
    one.server.stored = stored(retitleNode(draft, 'monitor', 'theirs'), 2);
    one.title('ours');
    await one.tick();
    expect(one.state()).toBe('conflict');
    one.title('ours again');
    expect(one.server.puts).toBe(1);
    await one.saver.overwrite();
    expect(one.server.stored.draft.nodes[1]).toMatchObject({ title: 'ours again' });
    expect(one.state()).toBe('saved');

    const two = setup();
    two.server.stored = stored(retitleNode(draft, 'monitor', 'theirs'), 2);
    two.title('ours');
    await two.tick();
    await two.saver.reload();
    expect(two.editor.getState().definition.nodes[1]).toMatchObject({ title: 'theirs' });
    two.editor.undo();
    expect(two.editor.getState().definition.nodes[1]).toMatchObject({ title: 'ours' });
  });

  it('joins both drafts and saves the result', async () => {
    const { server, editor, saver, title, tick, state } = setup();
    server.stored = stored(retitleNode(draft, 'ingress', 'theirs'), 2);
    title('ours');
    await tick();
    expect(await saver.merge()).toEqual([]);
    expect(state()).toBe('saved');
    for (const { nodes } of [editor.getState().definition, server.stored.draft]) {
      expect(nodes.slice(0, 2)).toMatchObject([{ title: 'theirs' }, { title: 'ours' }]);
    }
  });

  it('waits while the server is away and saves when it is back', async () => {
    const { server, title, tick, state } = setup();
    server.fail = problem(0);
    title('A');
    await tick();
    expect(state()).toBe('offline');
    server.fail = null;
    await tick();
    expect(state()).toBe('saved');
    expect(server.stored.draft.nodes[1]).toMatchObject({ title: 'A' });
  });

  it('keeps a refused draft and tries again when it changes', async () => {
    const { server, title, tick, state } = setup();
    server.fail = problem(422);
    title('A');
    await tick();
    expect(state()).toBe('refused');
    server.fail = null;
    title('B');
    await tick();
    expect(state()).toBe('saved');
  });

  it('takes over what others saved, unless something of ours would be lost', async () => {
    const { editor, saver, title } = setup();
    const theirs = stored(retitleNode(draft, 'monitor', 'theirs'), 2);
    title('ours');
    saver.observe({ chain: theirs, etag: '"2"' });
    expect(editor.getState().definition.nodes[1]).toMatchObject({ title: 'ours' });
    editor.undo();
    saver.observe({ chain: theirs, etag: '"2"' });
    expect(editor.getState().definition.nodes[1]).toMatchObject({ title: 'theirs' });
    expect(saver.dirty).toBe(false);
  });

  it('saves nothing any more once the chain was deleted elsewhere', async () => {
    const told = setup();
    told.saver.deleted();
    told.title('Late');
    await told.tick();
    expect(told.state()).toBe('deleted');
    expect(told.server.puts).toBe(0);
    expect(await told.saver.flush()).toBe(false);

    const found = setup();
    found.server.fail = problem(404);
    found.title('Late');
    await found.tick();
    expect(found.state()).toBe('deleted');
  });
});
