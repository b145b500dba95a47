import { useEffect, useRef } from 'react';
import { createStore, useStore } from 'zustand';

/** An action of the user: listed in the palette and, with `keys`, in the shortcut help. `id` is stable. */
export interface Command {
  readonly id: string;
  readonly title: string;
  readonly group: string;
  /** Additional search terms in the palette. */
  readonly words?: readonly string[];
  /** `mod+s`, `shift+?`, `Delete`, or a sequence as `g t`. `mod` is Ctrl, on a Mac the command key. */
  readonly keys?: string;
  /** Also while the cursor is in a field. */
  readonly inFields?: boolean;
  /** Not in the palette, e.g. a key that is only meaningful with a selection. */
  readonly hidden?: boolean;
  readonly run: () => void;
}

const SEQUENCE_MS = 900;
const commandStore = createStore<{ commands: readonly Command[] }>(() => ({ commands: [] }));

/** Offers commands while the component is on the page; the latest one with the same keys wins. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const shape = commands.map(({ id, title, keys }) => `${id}\t${title}\t${keys ?? ''}`).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: registered anew only when what is listed changes
  useEffect(() => {
    const mine = latest.current.map((command, index) => ({ ...command, run: () => latest.current[index]?.run() }));
    commandStore.setState(({ commands: all }) => ({ commands: [...all, ...mine] }));
    return () => commandStore.setState(({ commands: all }) => ({ commands: all.filter((one) => !mine.includes(one)) }));
  }, [shape]);
}

export function useCommandList(): readonly Command[] {
  return useStore(commandStore, ({ commands }) => commands);
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const NAMED = ['Enter', 'Escape', 'Delete', 'Backspace', 'Tab', ' '];

function stroke(event: KeyboardEvent): string {
  const parts: string[] = [];
  if (isMac ? event.metaKey : event.ctrlKey) parts.push('mod');
  if (event.altKey) parts.push('alt');
  const letter = event.key.length === 1 && event.key.toLowerCase() !== event.key.toUpperCase();
  if (event.shiftKey && (letter || event.key.length > 1 || event.key === ' ')) parts.push('shift');
  parts.push(letter ? event.key.toLowerCase() : event.key);
  return parts.join('+');
}

function inField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role="combobox"]') !== null)
  );
}

/** Runs commands by their keys until the returned function is called. */
export function listenForKeys(target: Window = window): () => void {
  let pending: { first: string; until: number } | null = null;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || ['Control', 'Shift', 'Alt', 'Meta'].includes(event.key)) return;
    const typed = stroke(event);
    const field = inField(event.target);
    const sequence = pending && event.timeStamp < pending.until ? `${pending.first} ${typed}` : null;
    pending = null;
    const { commands } = commandStore.getState();
    const find = (keys: string) =>
      commands.findLast((command) => command.keys === keys && (!field || command.inFields === true));
    const command = (sequence && find(sequence)) || find(typed);
    if (command) {
      // An open dialog keeps its keys, except the commands that are for anywhere.
      if (document.querySelector('[role="dialog"][aria-modal="true"]') && !command.inFields) return;
      // A focused button keeps Enter and Space.
      if (NAMED.slice(0, 1).concat(' ').includes(typed) && (event.target as HTMLElement).closest?.('button, a')) return;
      event.preventDefault();
      command.run();
      return;
    }
    if (!field && commands.some(({ keys }) => keys?.startsWith(`${typed} `))) {
      pending = { first: typed, until: event.timeStamp + SEQUENCE_MS };
    }
  };
  target.addEventListener('keydown', onKeyDown);
  return () => target.removeEventListener('keydown', onKeyDown);
}

/** Key labels as printed on the keyboard, by stroke. */
export function keyLabels(keys: string): string[][] {
  return keys.split(' ').map((one) =>
    one.split('+').map((part) => {
      if (part === 'mod') return isMac ? '⌘' : 'Ctrl';
      if (part === 'shift') return 'Shift';
      if (part === 'alt') return isMac ? '⌥' : 'Alt';
      if (part.length === 1) return part.toUpperCase();
      return part.replace('Arrow', '');
    }),
  );
}
