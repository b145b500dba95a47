import { setDiagnostics } from '@codemirror/lint';
import { useEffect, useRef } from 'react';
import type { TextProblem } from '../../editor-model/yaml-text.js';
import { diagnosticAt, makeYamlEditor } from './yaml-editor.js';
import classes from './yaml-input.module.css';

interface YamlInputProps {
  readonly label: string;
  /** What it begins with. */
  readonly text: string;
  /** Called a moment after the user has changed the text, or when the field loses the focus. */
  readonly onTyped: (text: string) => void;
  /** Marked at their lines. */
  readonly problems: readonly TextProblem[];
}

/** A field of a form for YAML, with line numbers. */
export function YamlInput({ label, text, onTyped, problems }: YamlInputProps) {
  const frame = useRef<HTMLDivElement>(null);
  const editor = useRef<ReturnType<typeof makeYamlEditor> | null>(null);
  const first = useRef(text);
  const typed = useRef(onTyped);
  typed.current = onTyped;

  useEffect(() => {
    editor.current = makeYamlEditor({
      parent: frame.current!,
      label,
      text: first.current,
      readOnly: false,
      onTyped: (now) => typed.current(now),
    });
    return () => editor.current!.destroy();
  }, [label]);

  useEffect(() => {
    const { view } = editor.current!;
    const marks = problems.map((problem) => diagnosticAt(view.state, problem, 'error', problem.message));
    view.dispatch(setDiagnostics(view.state, marks));
  }, [problems]);

  return (
    <div>
      <div className={classes.label} aria-hidden>
        {label}
      </div>
      <div ref={frame} className={classes.frame} data-bad={problems.length > 0 || undefined} />
    </div>
  );
}
