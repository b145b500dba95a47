import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Command, keyLabels, listenForKeys, useCommands } from './commands.js';

function Offers({ commands }: { readonly commands: readonly Command[] }) {
  useCommands(commands);
  return <input aria-label="field" />;
}

const command = (id: string, keys: string, run: () => void, rest: Partial<Command> = {}): Command => ({
  id,
  title: id,
  group: 'Test',
  keys,
  run,
  ...rest,
});

describe('commands', () => {
  let end: () => void;
  beforeEach(() => {
    end = listenForKeys();
  });
  afterEach(() => end());

  it('run by key, by sequence and with modifiers', () => {
    const [f, gt, save] = [vi.fn(), vi.fn(), vi.fn()];
    render(<Offers commands={[command('f', 'f', f), command('gt', 'g t', gt), command('save', 'mod+s', save)]} />);
    fireEvent.keyDown(document.body, { key: 'f' });
    fireEvent.keyDown(document.body, { key: 'g' });
    fireEvent.keyDown(document.body, { key: 't' });
    fireEvent.keyDown(document.body, { key: 's', ctrlKey: true });
    fireEvent.keyDown(document.body, { key: 's' });
    expect([f, gt, save].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1]);
  });

  it('leave the keys of a field to the field, except where they say otherwise', () => {
    const [f, find] = [vi.fn(), vi.fn()];
    render(<Offers commands={[command('f', 'f', f), command('find', 'mod+k', find, { inFields: true })]} />);
    const field = screen.getByLabelText('field');
    fireEvent.keyDown(field, { key: 'f' });
    fireEvent.keyDown(field, { key: 'k', ctrlKey: true });
    expect(f).not.toHaveBeenCalled();
    expect(find).toHaveBeenCalledTimes(1);
  });

  it('are gone with their component', () => {
    const f = vi.fn();
    const { unmount } = render(<Offers commands={[command('f', 'f', f)]} />);
    unmount();
    fireEvent.keyDown(document.body, { key: 'f' });
    expect(f).not.toHaveBeenCalled();
  });

  it('run the newest closure', () => {
    const [before, after] = [vi.fn(), vi.fn()];
    const { rerender } = render(<Offers commands={[command('f', 'f', before)]} />);
    rerender(<Offers commands={[command('f', 'f', after)]} />);
    fireEvent.keyDown(document.body, { key: 'f' });
    expect(before).not.toHaveBeenCalled();
    expect(after).toHaveBeenCalledTimes(1);
  });

  it('are written as keys', () => {
    expect(keyLabels('mod+shift+z')).toEqual([['Ctrl', 'Shift', 'Z']]);
    expect(keyLabels('g t')).toEqual([['G'], ['T']]);
  });
});
