import { TextInput } from '@mantine/core';
import { useClickOutside } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { canConnect } from '../../../editor-model/connect.js';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import type { QuickAdd as QuickAddState } from '../../../shared/chain-draft/store.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import { PartIcon } from './part-icon.js';
import { type PaletteEntry, paletteEntries, searchEntries } from './parts.js';
import classes from './quick-add.module.css';

/** The palette at the pointer: after a connection is dropped on the empty canvas, or to insert an NF into an edge. */
export function QuickAdd({ actions }: { readonly actions: EditorActions }) {
  const open = useEditor((state) => state.quickAdd);
  return open && <QuickAddList key={`${open.at.x},${open.at.y}`} open={open} actions={actions} />;
}

function QuickAddList({ open, actions }: { readonly open: QuickAddState; readonly actions: EditorActions }) {
  const { store, descriptors } = useEditorContext();
  const definition = useEditor((state) => state.definition);
  const [query, setQuery] = useState('');
  const [index, setIndex] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const close = () => store.setState({ quickAdd: null });
  const frame = useClickOutside<HTMLDivElement>(close);
  const entries = useMemo(
    () =>
      searchEntries(
        paletteEntries(definition, descriptors).filter((each) => fits(each, open)),
        query,
      ),
    [definition, descriptors, open, query],
  );
  useEffect(() => input.current?.focus(), []);

  const choose = (entry: PaletteEntry | undefined) => {
    if (!entry) return;
    close();
    actions.addConnected(entry.part, open);
    document.querySelector<HTMLElement>('.react-flow')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setIndex((now) => Math.max(0, Math.min(entries.length - 1, now + step)));
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      choose(entries[index]);
    }
    if (event.key === 'Escape') {
      event.stopPropagation();
      close();
    }
  };
  const title = { add: 'Add', insert: 'Insert on the connection', connect: 'Add and connect' }[open.purpose.kind];
  return (
    <div
      ref={frame}
      className={classes.frame}
      style={{
        left: Math.min(open.at.x, window.innerWidth - 248),
        top: Math.min(open.at.y, window.innerHeight - 320),
      }}
      role="dialog"
      aria-label={title}
    >
      <TextInput
        ref={input}
        role="combobox"
        aria-expanded
        aria-controls="quick-add-list"
        aria-activedescendant={entries[index] ? `quick-add-${entries[index].id}` : undefined}
        aria-label={title}
        placeholder={title}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id="quick-add-list" className={classes.list} role="listbox" aria-label="NFs">
        {entries.map((entry, position) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox above has the keys
          <div
            key={entry.id}
            id={`quick-add-${entry.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={position === index}
            className={classes.option}
            onPointerMove={() => setIndex(position)}
            onClick={() => choose(entry)}
          >
            <PartIcon icon={entry.icon} />
            {entry.title}
          </div>
        ))}
        {entries.length === 0 && <div className={classes.none}>Nothing fits here.</div>}
      </div>
    </div>
  );
}

function fits(entry: PaletteEntry, { purpose }: QuickAddState): boolean {
  if (entry.unavailable) return false;
  if (purpose.kind === 'insert') return entry.part.kind === 'nf';
  if (purpose.kind === 'connect') return entry.part.kind !== (purpose.end === 'source' ? 'ingress' : 'egress');
  return true;
}

/** Which other nodes may be the far end of a connection from `node`. */
export function verdictsFor(
  definition: Parameters<typeof canConnect>[0],
  node: string,
  end: 'source' | 'target',
): Map<string, ReturnType<typeof canConnect>> {
  return new Map(
    definition.nodes
      .filter((other) => other.id !== node)
      .map((other) => [
        other.id,
        end === 'source' ? canConnect(definition, node, other.id) : canConnect(definition, other.id, node),
      ]),
  );
}
