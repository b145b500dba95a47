import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useReactFlow } from '@xyflow/react';
import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from 'react';
import { TILE } from '../../../editor-model/edit.js';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { type EditorActions, refuse } from '../actions/use-editor-actions.js';
import classes from './palette.module.css';
import { PartIcon } from './part-icon.js';
import { type PaletteEntry, paletteEntries, searchEntries } from './parts.js';

const DRAG_FROM_PX = 4;

/** Everything that can be added: drag it to the canvas, or click it, or search and press Enter. */
export function Palette({ actions }: { readonly actions: EditorActions }) {
  const { descriptors, readOnly } = useEditorContext();
  const definition = useEditor((state) => state.definition);
  const [query, setQuery] = useState('');
  const entries = useMemo(() => paletteEntries(definition, descriptors), [definition, descriptors]);
  const found = searchEntries(entries, query);
  const list = useRef<HTMLUListElement>(null);

  const choose = (entry: PaletteEntry) => {
    if (entry.unavailable) refuse(entry.unavailable);
    else actions.add(entry.part);
  };
  const onSearchKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && found[0]) {
      event.preventDefault();
      choose(found[0]);
      setQuery('');
    }
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      list.current?.querySelector('button')?.focus();
    }
    if (event.key === 'Escape') setQuery('');
  };

  return (
    <aside className={classes.palette} aria-label="Palette">
      <div className={classes.search}>
        <TextInput
          id="palette-search"
          type="search"
          aria-label="Search the palette"
          placeholder="Search ( / )"
          leftSection={<IconSearch size={14} aria-hidden />}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={onSearchKey}
        />
      </div>
      <ul className={classes.list} ref={list} onKeyDown={moveFocus}>
        {found.map((entry, index) => (
          <li key={entry.id}>
            {entry.group !== found[index - 1]?.group && <div className={classes.group}>{entry.group}</div>}
            <PaletteItem entry={entry} disabled={readOnly} choose={() => choose(entry)} actions={actions} />
          </li>
        ))}
        {found.length === 0 && <li className={classes.none}>Nothing is called “{query}”.</li>}
      </ul>
      <p className={classes.hint}>Drag to the canvas, or click to add.</p>
    </aside>
  );
}

/** Arrow keys walk over the buttons of a list. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll('button')];
  const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const next = buttons[index + (event.key === 'ArrowDown' ? 1 : -1)];
  if (next) next.focus();
  else if (event.key === 'ArrowUp') document.getElementById('palette-search')?.focus();
}

interface PaletteItemProps {
  readonly entry: PaletteEntry;
  readonly disabled: boolean;
  readonly choose: () => void;
  readonly actions: EditorActions;
}

function PaletteItem({ entry, disabled, choose, actions }: PaletteItemProps) {
  const { store } = useEditorContext();
  const flow = useReactFlow();
  const [ghost, setGhost] = useState<{ x: number; y: number } | null>(null);
  const start = useRef<{ x: number; y: number } | null>(null);
  const dragged = useRef(false);

  const onPointerDown = (event: PointerEvent<HTMLButtonElement>) => {
    if (event.button !== 0 || disabled) return;
    start.current = { x: event.clientX, y: event.clientY };
    dragged.current = false;
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent<HTMLButtonElement>) => {
    if (!start.current) return;
    const far = Math.hypot(event.clientX - start.current.x, event.clientY - start.current.y) > DRAG_FROM_PX;
    if (!dragged.current && !far) return;
    dragged.current = true;
    setGhost({ x: event.clientX, y: event.clientY });
    const edge = entry.part.kind === 'nf' ? edgeUnder(event.clientX, event.clientY) : null;
    if (store.getState().dropEdge !== edge) store.setState({ dropEdge: edge });
  };
  const end = () => {
    start.current = null;
    setGhost(null);
    if (store.getState().dropEdge) store.setState({ dropEdge: null });
  };
  const onPointerUp = (event: PointerEvent<HTMLButtonElement>) => {
    const wasDragged = dragged.current && start.current !== null;
    const edge = store.getState().dropEdge;
    end();
    if (!wasDragged || !canvasUnder(event.clientX, event.clientY)) return;
    if (entry.unavailable) {
      refuse(entry.unavailable);
      return;
    }
    const point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const position = { x: point.x - TILE.width / 2, y: point.y - TILE.height / 2 };
    if (edge) actions.insert(edge, entry.part);
    else actions.add(entry.part, position);
  };

  return (
    <>
      <button
        type="button"
        className={classes.item}
        data-part={entry.id}
        disabled={disabled}
        aria-disabled={entry.unavailable !== null || undefined}
        title={entry.unavailable ?? entry.summary}
        aria-label={`Add ${entry.title}`}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={end}
        onClick={() => {
          if (!dragged.current) choose();
          dragged.current = false;
        }}
      >
        <PartIcon icon={entry.icon} />
        <span>{entry.title}</span>
      </button>
      {ghost && (
        <div className={classes.ghost} style={{ left: ghost.x, top: ghost.y }} aria-hidden>
          <PartIcon icon={entry.icon} />
          {entry.title}
        </div>
      )}
    </>
  );
}

function canvasUnder(x: number, y: number): boolean {
  return document.elementsFromPoint(x, y).some((element) => element.classList.contains('react-flow'));
}

function edgeUnder(x: number, y: number): string | null {
  for (const element of document.elementsFromPoint(x, y)) {
    const edge = element.closest('.react-flow__edge')?.getAttribute('data-id');
    if (edge) return edge;
    const label = element.closest('[data-edge-label]')?.getAttribute('data-edge-label');
    if (label) return label;
  }
  return null;
}
