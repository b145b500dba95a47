import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { useCommands } from '../../../shared/ui/commands.js';
import type { EditorActions } from './use-editor-actions.js';
import type { View } from './views.js';

interface EditorCommands {
  readonly actions: EditorActions;
  readonly view: View;
  readonly setView: (view: View) => void;
  readonly plan: () => void;
  readonly palette: { readonly open: boolean; readonly toggle: () => void };
  readonly toggleSettings: () => void;
}

/** The editor's keys; each is in the command palette and in the shortcut help too. */
export function useEditorCommands(commands: EditorCommands): void {
  const { actions, view, setView, plan, palette, toggleSettings } = commands;
  const { store } = useEditorContext();
  const group = 'Chain editor';
  useCommands([
    { id: 'editor.undo', title: 'Undo', group, keys: 'mod+z', run: store.undo },
    { id: 'editor.redo', title: 'Redo', group, keys: 'mod+shift+z', run: store.redo },
    { id: 'editor.redo-y', title: 'Redo', group, keys: 'mod+y', hidden: true, run: store.redo },
    {
      id: 'editor.search-palette',
      title: 'Search the palette',
      group,
      keys: '/',
      run: () => {
        if (!palette.open) palette.toggle();
        requestAnimationFrame(() => document.getElementById('palette-search')?.focus());
      },
    },
    { id: 'editor.palette', title: 'Show or hide the palette', group, keys: 'k', run: palette.toggle },
    { id: 'editor.settings', title: 'Show or hide the settings', group, keys: 'o', run: toggleSettings },
    {
      id: 'editor.quick-add',
      title: 'Add here, or on the selected connection',
      group,
      keys: 'i',
      run: actions.openQuickAdd,
    },
    { id: 'editor.connect', title: 'Connect the two selected nodes', group, keys: 'c', run: actions.connectSelected },
    { id: 'editor.delete', title: 'Delete', group, keys: 'Delete', run: () => actions.removeSelected(false) },
    {
      id: 'editor.delete-backspace',
      title: 'Delete',
      group,
      keys: 'Backspace',
      hidden: true,
      run: () => actions.removeSelected(false),
    },
    {
      id: 'editor.delete-reconnect',
      title: 'Delete and reconnect around',
      group,
      keys: 'shift+Delete',
      run: () => actions.removeSelected(true),
    },
    { id: 'editor.duplicate', title: 'Duplicate', group, keys: 'mod+d', run: actions.duplicateSelected },
    { id: 'editor.select-all', title: 'Select all', group, keys: 'mod+a', run: actions.selectAll },
    {
      id: 'editor.select-upstream',
      title: 'Select everything upstream',
      group,
      keys: 'alt+ArrowLeft',
      run: () => actions.extend('upstream'),
    },
    {
      id: 'editor.select-downstream',
      title: 'Select everything downstream',
      group,
      keys: 'alt+ArrowRight',
      run: () => actions.extend('downstream'),
    },
    {
      id: 'editor.deselect',
      title: 'Select nothing',
      group,
      keys: 'Escape',
      hidden: true,
      run: () => store.select({}),
    },
    { id: 'editor.arrange', title: 'Arrange automatically', group, keys: 'l', run: () => void actions.arrange() },
    { id: 'editor.fit', title: 'Fit the chain into view', group, keys: 'f', run: actions.fit },
    {
      id: 'editor.yaml',
      title: view === 'canvas' ? 'Show YAML beside the canvas' : 'Hide YAML',
      group,
      keys: 'y',
      run: () => setView(view === 'canvas' ? 'split' : 'canvas'),
    },
    { id: 'editor.plan', title: 'Preview the plan', group, keys: 'p', run: plan },
  ]);
}
