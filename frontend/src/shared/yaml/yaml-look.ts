import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '12px', backgroundColor: 'var(--o-surface)', color: 'var(--o-text)' },
  '.cm-scroller': { fontFamily: 'var(--o-mono)', lineHeight: '18px' },
  '.cm-gutters': {
    backgroundColor: 'var(--o-surface)',
    color: 'var(--o-text-muted)',
    borderRight: '1px solid var(--o-border)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--o-hover)' },
  '.cm-content': { caretColor: 'var(--o-accent)' },
  '.cm-cursor': { borderLeftColor: 'var(--o-accent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--o-selected) !important' },
  '.cm-tooltip': {
    backgroundColor: 'var(--o-surface-raised)',
    border: '1px solid var(--o-border)',
    color: 'var(--o-text)',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--o-failed)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--o-degraded)' },
});
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--o-series-1)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--o-series-2)' },
  { tag: tags.comment, color: 'var(--o-text-muted)', fontStyle: 'italic' },
  { tag: [tags.string, tags.content], color: 'var(--o-text)' },
]);

/** The text editor in the colours of the console. */
export const YAML_LOOK: Extension = [look, syntaxHighlighting(colours)];
