import { TextInput } from '@mantine/core';
import { sampleKey } from '@orrery/contract/sample-keys';
import { IconSearch } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { chainNameOf } from '../../shared/api/chains.js';
import { useLink, useStale } from '../../shared/stream/hooks.js';
import { LiveRate, RateText } from '../../shared/ui/rate-text.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import type { BoardBox } from './boards.js';
import type { Target } from './frame.js';
import { jointRateKey } from './joints.js';
import { boardOf, type Chip, chipOf, rateKey, type Scene } from './model.js';
import classes from './topology.module.css';
import { NO_TROUBLES, type Trouble, type Troubles } from './troubles.js';

type Row =
  | { readonly kind: 'group'; readonly title: string; readonly count: number }
  | {
      readonly kind: 'item';
      readonly target: Target;
      readonly label: string;
      /** The chain of an NF. */
      readonly of?: string;
      readonly depth: 0 | 1;
      readonly state?: string;
      /** Of a server, board, switch or host. */
      readonly trouble?: Trouble;
    };

const ROW_PX = 26;

/** Everything on the canvas, in reading order: servers with their NFs and boards, switches, hosts, links. */
export function rowsOf(scene: Scene, text: string, troubles: Troubles = NO_TROUBLES): Row[] {
  const rows: Row[] = [];
  const match = (label: string) => label.toLowerCase().includes(text.toLowerCase());
  const nodes = [...scene.nodes.values()];
  const joints = [...scene.joints.values()];
  const titleOf = (id: string) => scene.nodes.get(id)?.title ?? id;
  const group = (title: string, items: Row[], count = items.length) => {
    if (items.length > 0) rows.push({ kind: 'group', title, count }, ...items);
  };
  const servers: Row[] = [];
  for (const { id, title, chips, boards, kind } of nodes) {
    if (kind !== 'server' && kind !== 'board') continue;
    const beside = joints.filter((joint) => joint.server === id);
    const found = match(title) ? beside : beside.filter((joint) => match(`${joint.kind} ${joint.id}`));
    const inside = chips.filter((chip) => match(chip.id));
    const hasBoard = boards.some((board) => match(`${board.title} ${board.id}`));
    if (match(title) || inside.length > 0 || hasBoard || found.length > 0)
      servers.push(partRow({ kind: kind === 'board' ? 'board' : 'node', id }, title, 0, troubles));
    servers.push(...(match(title) ? chips : inside).map(chipRow));
    for (const { id: joint, kind: what } of found)
      servers.push({ kind: 'item', target: { kind: 'joint', id: joint }, label: what, of: joint, depth: 1 });
    for (const board of kind === 'board' ? [] : boards) {
      if (!match(`${title} ${board.title} ${board.id}`)) continue;
      servers.push(partRow({ kind: 'board', id: board.id }, board.title, 1, troubles));
    }
  }
  group('Servers, NFs and boards', servers);
  const withNfs = (kind: 'switch' | 'host'): Row[] =>
    nodes.flatMap(({ id, title, subtitle, chips, ...node }): Row[] => {
      const isFound = match(`${title} ${subtitle}`);
      const inside = isFound ? chips : chips.filter((chip) => match(chip.id));
      if (node.kind !== kind || (!isFound && inside.length === 0)) return [];
      return [partRow({ kind: 'node', id }, title, 0, troubles), ...inside.map(chipRow)];
    });
  const switches = withNfs('switch');
  // Their NFs, which are listed with them, are no switches.
  group('Switches', switches, switches.filter((row) => row.kind === 'item' && row.depth === 0).length);
  group('Hosts', withNfs('host'));
  group(
    'Links',
    [...scene.links.values()]
      .map(({ id, a, b }) => ({ id, ends: `${titleOf(a)} – ${titleOf(b)}` }))
      .filter(({ id, ends }) => match(`${id} ${ends}`))
      .map(({ id, ends }) => ({ kind: 'item', target: { kind: 'link', id }, label: ends, depth: 0 })),
  );
  return rows;
}

function partRow(target: Target, label: string, depth: 0 | 1, troubles: Troubles): Row {
  return { kind: 'item', target, label, depth, trouble: troubles.get(target.id) };
}

function chipRow({ id, label, state }: Chip): Row {
  return { kind: 'item', target: { kind: 'nf', id }, label, of: chainNameOf(id) ?? '', depth: 1, state };
}

function LinkFigure({ id }: { readonly id: string }) {
  const link = useLink(id);
  const stale = useStale(link?.received_ms);
  if (link && !link.up) return <StatusBadge state="down" />;
  return <RateText quantity="bps" value={link && Math.max(link.a_to_b_bps, link.b_to_a_bps)} stale={stale} />;
}

function BoardFigure({ board }: { readonly board: BoardBox | undefined }) {
  if (!board) return null;
  if (board.state !== 'operating') return <StatusBadge state={board.state} />;
  const busy = board.slots.filter(({ state }) => state !== 'empty').length;
  return (
    <span className="muted tabular">
      {busy} of {board.slots.length} slots
    </span>
  );
}

function Figure({ target, scene }: { readonly target: Target; readonly scene: Scene }) {
  if (target.kind === 'link') return <LinkFigure id={target.id} />;
  if (target.kind === 'nf') {
    const chip = chipOf(scene, target.id);
    return chip ? <LiveRate sampleKey={rateKey(chip)} quantity="pps" /> : null;
  }
  if (target.kind === 'board') return <BoardFigure board={boardOf(scene, target.id)} />;
  if (target.kind === 'joint') return <LiveRate sampleKey={jointRateKey(target.id)} quantity="pps" />;
  const node = scene.nodes.get(target.id);
  if (node?.kind === 'server') return <LiveRate sampleKey={sampleKey('node', target.id, 'cpu')} quantity="share" />;
  return <span className="muted tabular">{node?.kind === 'host' ? node.subtitle : ''}</span>;
}

interface ElementListProps {
  readonly scene: Scene;
  readonly troubles: Troubles;
  readonly selected: Target | null;
  readonly onSelect: (target: Target) => void;
}

/** The elements of the canvas for keyboard and screen readers; arrow keys move, Enter selects. */
export function ElementList({ scene, troubles, selected, onSelect }: ElementListProps) {
  const [text, setText] = useState('');
  const rows = useMemo(() => rowsOf(scene, text, troubles), [scene, text, troubles]);
  const [current, setCurrent] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const isItem = (index: number) => rows[index]?.kind === 'item';
  const stop = isItem(current) ? current : rows.findIndex(({ kind }) => kind === 'item');

  const walk = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    let next = event.key === 'Home' ? 0 : event.key === 'End' ? rows.length - 1 : stop + step;
    if (next === stop && event.key !== 'Home' && event.key !== 'End') return;
    const direction = event.key === 'End' ? -1 : event.key === 'Home' ? 1 : step;
    while (next >= 0 && next < rows.length && !isItem(next)) next += direction;
    if (!isItem(next)) return;
    event.preventDefault();
    setCurrent(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${next}"] button`)?.focus());
  };

  return (
    <section className={classes.list} aria-label="Elements of the topology">
      <TextInput
        className={classes.listSearch}
        aria-label="Search elements"
        placeholder="Search"
        leftSection={<IconSearch size={14} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div ref={box} className={classes.listScroll}>
        <ul style={{ height: virtual.getTotalSize() }} onKeyDown={walk}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]!;
            return (
              <li key={index} data-index={index} style={{ transform: `translateY(${start}px)`, height: ROW_PX }}>
                {row.kind === 'group' ? (
                  <span className={classes.listGroup}>
                    {row.title} <span className="tabular">{row.count}</span>
                  </span>
                ) : (
                  <button
                    type="button"
                    className={classes.listItem}
                    data-depth={row.depth}
                    tabIndex={index === stop ? 0 : -1}
                    aria-pressed={selected?.kind === row.target.kind && selected.id === row.target.id}
                    onFocus={() => setCurrent(index)}
                    onClick={() => onSelect(row.target)}
                  >
                    <span className={classes.listLabel} title={row.of && `${row.label} of ${row.of}`}>
                      {row.label}
                      {row.of && <span className="muted"> {row.of}</span>}
                    </span>
                    {row.trouble ? (
                      <span title={row.trouble.text}>
                        <StatusBadge state={row.trouble.word} status={row.trouble.status} />
                      </span>
                    ) : row.state && row.state !== 'running' ? (
                      <StatusBadge state={row.state} />
                    ) : (
                      <Figure target={row.target} scene={scene} />
                    )}
                  </button>
                )}
              </li>
            );
          })}
        </ul>
        {rows.length === 0 && <p className="muted">Nothing matches “{text}”</p>}
      </div>
    </section>
  );
}
