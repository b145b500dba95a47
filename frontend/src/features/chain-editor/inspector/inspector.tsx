import { edgeOf, nodeOf } from '../../../editor-model/graph.js';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { RejectedEntries } from '../../../shared/form/rejected-entries.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import { ChainInspector } from './chain-inspector.js';
import { EdgeInspector } from './edge-inspector.js';
import classes from './inspector.module.css';
import { NodeInspector } from './node-inspector.js';
import { SelectionInspector } from './selection-inspector.js';

/** All settings of the selection, or of the chain if nothing is selected. */
export function Inspector({ actions }: { readonly actions: EditorActions }) {
  const definition = useEditor((state) => state.definition);
  const { store } = useEditorContext();
  const selection = useEditor((state) => state.selection);
  const count = selection.nodes.length + selection.edges.length;
  const node = selection.nodes.length === 1 ? nodeOf(definition, selection.nodes[0]!) : undefined;
  const edge = count === 1 && selection.edges.length === 1 ? edgeOf(definition, selection.edges[0]!) : undefined;
  return (
    <aside className={classes.inspector} aria-label="Inspector">
      <RejectedEntries value={store.reject}>
        {node ? (
          <NodeInspector key={node.kind} node={node} actions={actions} />
        ) : edge ? (
          <EdgeInspector key={edge.id} edge={edge} actions={actions} />
        ) : count > 1 ? (
          <SelectionInspector selection={selection} actions={actions} />
        ) : (
          <ChainInspector />
        )}
      </RejectedEntries>
    </aside>
  );
}
