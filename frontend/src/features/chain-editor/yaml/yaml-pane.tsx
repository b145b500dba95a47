import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { ChainProblem } from '@orrery/contract';
import { useEffect, useRef, useState } from 'react';
import { fromYaml, locate, toYaml } from '../../../editor-model/chain-yaml.js';
import { same } from '../../../editor-model/diff.js';
import { useDerived, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { refuse } from '../actions/use-editor-actions.js';
import classes from './yaml-pane.module.css';

const APPLY_AFTER_MS = 300;

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

/** The chain as text. Valid text is applied to the canvas immediately; errors are marked at their line. */
export default function YamlPane() {
  const { store, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  const unapplied = useEditor((state) => state.unapplied);
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  /** The definition that the text represents; a different one in the store means an external change. */
  const shown = useRef(definition);
  const [syntax, setSyntax] = useState<Diagnostic[] | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once and fed below
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const apply = (text: string) => {
      const result = fromYaml(text);
      if (result.ok) {
        setSyntax(null);
        store.setState({ unapplied: null });
        shown.current = result.definition;
        if (!same(result.definition, store.getState().definition)) store.apply(() => result.definition, 'yaml');
        else shown.current = store.getState().definition;
        return;
      }
      setSyntax(result.problems.map((problem) => diagnostic(editor.state, problem, 'error', problem.message)));
      const [first] = result.problems;
      store.setState({ unapplied: `line ${first?.line}: ${first?.message}` });
    };
    const applyNow = () => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      apply(editor.state.doc.toString());
    };
    const editable = new Compartment();
    const editor = new EditorView({
      parent: frame.current!,
      state: EditorState.create({
        doc: toYaml(definition),
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          yaml(),
          syntaxHighlighting(colours),
          look,
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          editable.of(EditorState.readOnly.of(readOnly)),
          EditorView.contentAttributes.of({
            'aria-label': 'Chain as YAML. Press Escape, then Tab to leave.',
            tabindex: '0',
          }),
          EditorView.updateListener.of((update) => {
            const typed = update.transactions.some(
              (each) =>
                each.isUserEvent('input') ||
                each.isUserEvent('delete') ||
                each.isUserEvent('undo') ||
                each.isUserEvent('redo') ||
                each.isUserEvent('move'),
            );
            if (!update.docChanged || !typed) return;
            clearTimeout(timer);
            timer = setTimeout(applyNow, APPLY_AFTER_MS);
          }),
          // The next action, such as Deploy, uses the current text.
          EditorView.domEventHandlers({ blur: applyNow }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      clearTimeout(timer);
      timer = undefined;
      store.setState({ unapplied: null });
      editor.destroy();
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor || definition === shown.current) return;
    shown.current = definition;
    setSyntax(null);
    if (store.getState().unapplied !== null) {
      store.setState({ unapplied: null });
      refuse('The chain changed elsewhere and the text with it. Undo in the text brings back what was not applied.');
    }
    const text = toYaml(definition);
    if (text !== editor.state.doc.toString()) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
    }
  }, [definition, store]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const text = editor.state.doc.toString();
    const found =
      syntax ??
      problems.all.map((problem: ChainProblem) =>
        diagnostic(editor.state, locate(text, problem.pointer), problem.severity, problem.message),
      );
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [syntax, problems]);

  return (
    <div className={classes.pane}>
      <div ref={frame} className={classes.editor} />
      <div className={classes.status} role="status" data-bad={unapplied !== null || undefined}>
        {unapplied === null ? 'Valid, applied to the canvas' : `Not applied: ${unapplied}`}
      </div>
    </div>
  );
}

function diagnostic(
  state: EditorState,
  place: { line: number; column: number },
  severity: 'error' | 'warning',
  message: string,
): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(1, place.line), state.doc.lines));
  const from = Math.min(line.to, line.from + place.column - 1);
  return { from, to: Math.max(from, line.to), severity, message };
}
