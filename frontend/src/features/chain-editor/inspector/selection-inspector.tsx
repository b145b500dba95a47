import { Button } from '@mantine/core';
import { IconArrowRight, IconCopy, IconTrash } from '@tabler/icons-react';
import type { Selection } from '../../../editor-model/graph.js';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { Keys } from '../../../shared/ui/keys.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import classes from './inspector.module.css';

interface SelectionInspectorProps {
  readonly selection: Selection;
  readonly actions: EditorActions;
}

/** Actions on several elements at once. */
export function SelectionInspector({ selection, actions }: SelectionInspectorProps) {
  const { readOnly } = useEditorContext();
  const words = [plural(selection.nodes.length, 'node'), plural(selection.edges.length, 'connection')]
    .filter(Boolean)
    .join(', ');
  return (
    <>
      <header className={classes.head}>
        <h2>{words}</h2>
      </header>
      {!readOnly && (
        <div className={classes.actions}>
          {selection.nodes.length === 2 && (
            <Action icon={IconArrowRight} label="Connect" keys="c" onClick={actions.connectSelected} />
          )}
          {selection.nodes.length > 0 && (
            <Action icon={IconCopy} label="Duplicate" keys="mod+d" onClick={actions.duplicateSelected} />
          )}
          <Action icon={IconTrash} label="Delete" keys="Delete" onClick={() => actions.removeSelected(false)} />
          {selection.nodes.length > 0 && (
            <Action
              icon={IconTrash}
              label="Delete and reconnect"
              keys="shift+Delete"
              onClick={() => actions.removeSelected(true)}
            />
          )}
        </div>
      )}
    </>
  );
}

interface ActionProps {
  readonly icon: typeof IconCopy;
  readonly label: string;
  readonly keys: string;
  readonly onClick: () => void;
}

function Action({ icon: Icon, label, keys, onClick }: ActionProps) {
  return (
    <Button
      variant="default"
      justify="space-between"
      fullWidth
      leftSection={<Icon size={14} aria-hidden />}
      rightSection={<Keys keys={keys} />}
      onClick={onClick}
    >
      {label}
    </Button>
  );
}

function plural(count: number, word: string): string {
  return count === 0 ? '' : `${count} ${word}${count === 1 ? '' : 's'}`;
}
