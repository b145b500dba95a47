import { type Diagnostic, setDiagnostics } from '@codemirror/lint';
import type { EditorView } from '@codemirror/view';
import { Button } from '@mantine/core';
import type { ChainProblem } from '@orrery/contract';
import { useEffect, useRef, useState } from 'react';
import { fromYaml, toYaml } from '../../../editor-model/chain-yaml.js';
import { same } from '../../../editor-model/diff.js';
import { locate } from '../../../editor-model/yaml-text.js';
import { useDerived, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { dateTimeText } from '../../../shared/format/time.js';
import { notifyKept, withdraw } from '../../../shared/ui/notify.js';
import { diagnosticAt, makeYamlEditor } from '../../../shared/yaml/yaml-editor.js';
import { refuse } from '../actions/use-editor-actions.js';
import { dropText, type KeptText, keepText, keptText } from './kept-text.js';
import classes from './yaml-pane.module.css';

const noticeOf = (chainId: string) => `kept-text-${chainId}`;

function sayKept(chainId: string, title: string): void {
  const message = 'It is kept in this browser. Open the chain as YAML to go on.';
  notifyKept(`Your text of ${title} is not applied`, message, noticeOf(chainId));
}

/**
 * The chain as text. Valid text is applied to the canvas immediately; errors are marked at their line. A text with errors is
 * shown again when the page is opened again, or offered if the chain has changed since.
 */
export default function YamlPane() {
  const { store, readOnly, chain } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  const unapplied = useEditor((state) => state.unapplied);
  const frame = useRef<HTMLDivElement>(null);
  const shownIn = useRef<EditorView | null>(null);
  /** The definition that the text represents; a different one in the store means an external change. */
  const shown = useRef(definition);
  const [syntax, setSyntax] = useState<Diagnostic[] | null>(null);
  const [kept, setKept] = useState<KeptText | null>(null);

  useEffect(() => {
    const apply = (text: string) => {
      const result = fromYaml(text);
      setKept(null);
      if (result.ok) {
        setSyntax(null);
        dropText(chain.id);
        store.setState({ unapplied: null });
        shown.current = result.definition;
        if (!same(result.definition, store.getState().definition)) store.apply(() => result.definition, 'yaml');
        else shown.current = store.getState().definition;
        return;
      }
      setSyntax(result.problems.map((problem) => diagnosticAt(editor.view.state, problem, 'error', problem.message)));
      const [first] = result.problems;
      store.setState({ unapplied: `line ${first?.line}: ${first?.message}` });
      keepText(chain.id, text, toYaml(shown.current));
    };
    const current = toYaml(shown.current);
    const left = readOnly ? null : keptText(chain.id);
    const isCurrent = left?.of === current;
    const text = isCurrent ? left.text : current;
    const editor = makeYamlEditor({
      parent: frame.current!,
      label: 'Chain as YAML',
      text,
      readOnly,
      onTyped: apply,
    });
    shownIn.current = editor.view;
    withdraw(noticeOf(chain.id));
    if (isCurrent) apply(text);
    else setKept(left);
    return () => {
      editor.destroy();
      shownIn.current = null;
      const isLeft = store.getState().unapplied !== null && keptText(chain.id) !== null;
      store.setState({ unapplied: null });
      // Not where the text is only shown anew.
      queueMicrotask(() => {
        if (isLeft && !shownIn.current) sayKept(chain.id, store.getState().definition.title);
      });
    };
  }, [store, readOnly, chain.id]);

  useEffect(() => {
    const view = shownIn.current;
    if (!view || definition === shown.current) return;
    shown.current = definition;
    setSyntax(null);
    if (store.getState().unapplied !== null) {
      store.setState({ unapplied: null });
      dropText(chain.id);
      refuse('The chain changed elsewhere and the text with it. Undo in the text brings back what was not applied.');
    }
    const text = toYaml(definition);
    if (text !== view.state.doc.toString()) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    }
  }, [definition, store, chain.id]);

  useEffect(() => {
    const view = shownIn.current;
    if (!view) return;
    const text = view.state.doc.toString();
    const found =
      syntax ??
      problems.all.map((problem: ChainProblem) =>
        diagnosticAt(view.state, locate(text, problem.pointer), problem.severity, problem.message),
      );
    view.dispatch(setDiagnostics(view.state, found));
  }, [syntax, problems]);

  const restore = (text: string) => {
    const view = shownIn.current!;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: 'input.paste' });
    view.focus();
    setKept(null);
  };
  return (
    <div className={classes.pane}>
      {kept && (
        <div className={classes.kept} role="alert">
          <span>A text that could not be applied is kept from {dateTimeText(kept.at_ms)}.</span>
          <Button size="compact-xs" onClick={() => restore(kept.text)}>
            Restore
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => {
              dropText(chain.id);
              setKept(null);
            }}
          >
            Discard
          </Button>
        </div>
      )}
      <div ref={frame} className={classes.editor} />
      <div className={classes.status} role="status" data-bad={unapplied !== null || undefined}>
        {unapplied === null ? 'Valid, applied to the canvas' : `Not applied: ${unapplied}`}
      </div>
    </div>
  );
}
